"""What a study file may reach: its own folder, and what the person who runs it allows besides.

A study file may come from a stranger. What it names by itself, its sources and its query, is
confined: to files of its folder (wherever ``..`` and links lead to), and to no server. What you
name yourself, on the command line or in Python, is yours to choose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from elfair.errors import InputError
from elfair.study.secrets import without_secrets

#: Parameters of an address that name a host, or the folder of its socket.
_HOSTS = ("host", "hostaddr", "service", "unix_socket", "socket", "server")


@dataclass(frozen=True)
class Reach:
    """The folders and servers that a study may read from.

    Parameters
    ----------
    folders : tuple of Path
        The folder of the study, and those that were allowed.
    servers : tuple of str
        The hosts of databases that were allowed.

    Examples
    --------
    >>> Reach((Path("/studies"),)).check_file(Path("/etc/hosts.csv"), "../etc/hosts.csv")
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: the study names '../etc/hosts.csv', which is outside its folder.
    Hint: if you trust who wrote the study, allow the folder: --within /etc (in Python, within=).
    """

    folders: tuple[Path, ...] = ()
    servers: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, folder: Path, within: Sequence[str | Path] = (), servers: Iterable[str] = ()
    ) -> Reach:
        """From the folder of a study, and what a person allows besides.

        Parameters
        ----------
        folder : Path
            The folder of the study.
        within : sequence of str or Path
            Further folders.
        servers : iterable of str
            Hosts.
        """
        others = [Path(each) for each in ([within] if isinstance(within, str | Path) else within)]
        for each in others:
            if not each.is_dir():
                raise InputError(
                    f"within must name folders. Got {str(each)!r}, which is none.",
                    hint="name the folder that holds the files of the study.",
                )
        hosts = [servers] if isinstance(servers, str) else servers
        return cls(
            tuple(dict.fromkeys(each.resolve() for each in (folder, *others))),
            tuple(each.lower() for each in hosts),
        )

    def check_file(self, path: Path, name: str) -> None:
        """Raise if a file, or what it is a link to, is outside the folders.

        Parameters
        ----------
        path : Path
            The file; it need not exist.
        name : str
            What the study calls it.
        """
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise InputError(
                f"{name!r} cannot be the name of a file: {error}.", hint="choose another name."
            ) from None
        if any(real.is_relative_to(folder) for folder in self.folders):
            return
        is_link = any(
            Path(os.path.normpath(path)).is_relative_to(folder) for folder in self.folders
        )
        leads = f"leads to '{real}', which is" if is_link else "is"
        raise InputError(
            f"the study names {name!r}, which {leads} outside its folder.",
            hint=f"if you trust who wrote the study, allow the folder: --within {real.parent} (in "
            "Python, within=).",
        )

    def check_server(self, address: str, shown: str) -> None:
        """Raise if an address asks a server that was not allowed.

        Parameters
        ----------
        address : str
            The address, with its variables as they are written.
        shown : str
            The same without secrets.
        """
        hosts = hosts_of(address)
        if hosts and set(hosts) <= set(self.servers):
            return
        asked = " ".join(f"--server {each}" for each in hosts) or "--server HOST"
        raise InputError(
            f"the study asks the database {shown!r}, and would send it what the address holds.",
            hint=f"if you trust who wrote the study, allow it: {asked} (in Python, servers=).",
        )


def hosts_of(address: str) -> list[str]:
    """The hosts that an address names.

    Parameters
    ----------
    address : str
        Of a server.

    Examples
    --------
    >>> hosts_of("postgresql://ann:x@db.example.org:5432/loans"), hosts_of("mysql://a,b:1/d")
    (['db.example.org'], ['a', 'b'])
    >>> hosts_of("postgresql://a/d?host=b")
    ['a', 'b']
    """
    _check_plain(address)
    try:
        parts = urlsplit(address)
    except ValueError:  # brackets that are no address
        return []
    pairs = (unquote(each).partition("=") for each in re.split("[&;]", parts.query))
    also = [value for key, _, value in pairs if key.strip().lower() in _HOSTS]
    named = ",".join([parts.netloc.rpartition("@")[2], *also]).split(",")
    plain = [_without_port(unquote(each)).lower() for each in named if each]
    return list(dict.fromkeys(plain)) or ["localhost"]


def _check_plain(address: str) -> None:
    """Raise if programs may differ in where the host of an address stands.

    The standard of addresses ends the host at the first / ? or #, and browsers at a backslash, too.
    libpq, with which PostgreSQL is asked, knows a login by the first @ before any /, and ? and #
    may stand in it. What is allowed by one reading could be sent to the host of another.
    """
    _, colon, rest = address.partition("://")
    login, at, _ = rest.partition("/")[0].rpartition("@")
    odd = bool(at and re.search(r"[?#@]", login))
    odd |= "@" in rest.partition("?")[0].partition("/")[2]
    hidden = re.search(r"[\s\x00-\x1f\x7f\\]", rest)
    if colon and (odd or hidden):
        raise InputError(
            f"the address {without_secrets(address)!r} can be read in two ways: its login or host "
            "has a character that ends it for some programs.",
            hint="leave the password to the environment, as ${DB_PASSWORD}, or write the character "
            "as a percent code, such as %3F for a question mark.",
        )


def _without_port(host: str) -> str:
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
