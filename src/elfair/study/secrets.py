"""Secrets of connection strings: hidden wherever they are shown or recorded.

A certificate holds the study file, so a password there would reach everybody who reads a result.
`redacted` is the one place through which the text of a study passes before anything keeps it: what
the file says of its sources, and its comments, go through `without_secrets`; all other lines stay
as they are, byte for byte, or else nobody could verify them.

A study file can leave secrets to the environment: ``postgresql://ann:${DB_PASSWORD}@host/loans``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import quote

from elfair.errors import InputError

HIDDEN = "***"

#: A login without a password is the name of a user, unless it is a token: of the web, or this long.
_WEB, _TOKEN = ("http", "https", "git", "git+https"), 20
#: The patterns take time that grows with the length of a line, or with its square: a longer one was
#: written by no person, and its end is hidden.
LONGEST_LINE = 20_000
_SCHEME = r"(?<![\w+.-])\w[\w+.-]{0,40}://"
#: A login as it should be: nothing in it ends the part of an address that names the host. Behind it
#: an @ may come only in parameters.
_LOGIN = re.compile(
    rf"({_SCHEME})([^\s/?#:@]*)(:?)([^\s/?#@]*)@"
    r"(?=[\w.\-\[\]:,%]*(?:[/;][^\s@?]*)?(?:\?[\w.%-]+=[^\n]*)?(?:[\s'\"]|$))"
    r"(?![^\s?]*@)"
)
#: Any other: to the last @ on the line, because a password may itself hold any of : / ? @.
_ODD_LOGIN = re.compile(rf"({_SCHEME})([^\s/?#:@]*)(:)(.*)@", re.DOTALL)
_ODD_TOKEN = re.compile(rf"({_SCHEME})()()([^\s/?#@]+)@")
#: Oracle writes user/password@host.
_ORACLE = re.compile(r"(\boracle[\w:+]{0,40}(?:@|//)?|\bsqlplus\s+|\bthin:)([\w$#]+)/([^\s@/]+)@")

_WORDS = (
    r"pass(?:word|wd|phrase|code)?|pwd|token|secret|jwt|sas|signature|"
    r"(?:api|access|account|private|secret|shared|storage|encryption|auth|master|service)"
    r"[ _.-]?(?:access[ _.-]?)?(?:key|signature|token)(?:[ _.-]?id|[ _.-]?(?:base64|json|value))?|"
    r"credentials?(?:[ _.-]?(?:base64|json))?|authorization|bearer|connection[ _]?string"
)
#: What is a secret among the parameters of a web address alone.
_SHORT = r"(?<=[?&;])(?:sig|key|code|auth)"
#: Short names that are a secret wherever a value is given to them.
_ASSIGNED = r"(?<![\w-])(?:pw|pat)(?=\s*[:=])|(?<!\w)footer_key"
_QUOTED = r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|\{(?:[^}]|\}\})*\}"
_PARAMETER = re.compile(
    rf"((?:{_WORDS}|{_SHORT}|{_ASSIGNED})[\"']?\s*(?:=>|:=|[=:])\s*(?:Bearer\s+|Basic\s+)?)"
    rf"(?!\$\{{\w+\}}|//|(?:Bearer|Basic)\s|{re.escape(HIDDEN)})({_QUOTED}|(?:\\\s|[^\s&;'\",)\]}}])(?:\\\s|[^\s&;'\"])*)",
    re.IGNORECASE,
)
#: SQL gives a value without a sign: CREATE SECRET (KEY_ID 'x'), IDENTIFIED BY 'x', PRAGMA key='x'.
_SQL = re.compile(
    rf"((?:\b(?:{_WORDS}|key_id|identified\s+(?:with\s+\S+\s+)?by(?:\s+password)?)\s+"
    rf"|\bpragma\s+\w*key\s*=?\s*))({_QUOTED})",
    re.IGNORECASE,
)
#: The second argument of a call that names a key and gives it.
_CALL = re.compile(
    rf"(\b\w*(?:key|secret|password)\s*\(\s*(?:{_QUOTED})\s*,\s*)({_QUOTED})", re.IGNORECASE
)
_USER = re.compile(r"((?<!\S)(?:-u|--user)[ =]?[^\s:'\"]+:)(\S+)")
#: Between semicolons a value may hold spaces, quotes and ampersands.
_LISTED = re.compile(
    rf"((?:^(?=[^;\n]*;)|;)[\w .-]{{0,60}}(?:{_WORDS})\s*=\s*)"
    rf"(?!\$\{{\w+\}}|{_QUOTED}|{re.escape(HIDDEN)})([^;\n]+)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(
    rf"((?:{_WORDS})%3D)(?!{re.escape(HIDDEN)})(.+?)(?=%3B|&|\s|$)", re.IGNORECASE
)
_OPTION = re.compile(
    rf"((?<![\w-])--?(?:[\w-]{{0,40}}-)?(?:{_WORDS})\s+)(?!-)([^\s'\"]+)", re.IGNORECASE
)
_MYSQL = re.compile(r"(\bmysql\w{0,20}\s[^\n]{0,300}?\s-p)(?=[^\s-])(\S+)")
#: A line of the password file of PostgreSQL: host:port:database:user:password.
_PASSFILE = re.compile(
    r"((?:^|(?<=[\s#'\"]))[\w.*/-]+:(?:\d{1,5}|\*):[\w.*-]+:[\w.*@-]+:)(?!\*\*\*)([^\s'\"]+)", re.M
)
_BLOCK = re.compile(
    r"(-----BEGIN [A-Z ]*KEY-----\s*).*?(\s*-----END [A-Z ]*KEY-----|\Z)", re.DOTALL
)
#: Secrets that are recognised by how they look.
_LOOKS = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|sk-[\w-]{20,}|dapi[0-9a-f]{32})"
)
_PATTERNS = (*(_ESCAPED, _LISTED, _SQL, _CALL, _PARAMETER, _OPTION, _USER, _MYSQL, _PASSFILE),)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def without_secrets(text: str) -> str:
    """A text in which no address has a password, and no parameter a password, key or token.

    Where it cannot tell, it hides too much rather than too little.

    Parameters
    ----------
    text : str
        An address, or a message that holds some.

    Examples
    --------
    >>> without_secrets("postgresql://ann:s3cret@db/loans?sslpassword=x&mode=ro")
    'postgresql://ann:***@db/loans?sslpassword=***&mode=ro'
    >>> without_secrets("AccountName=loans;AccountKey=aGVsbG8=;EndpointSuffix=core.windows.net")
    'AccountName=loans;AccountKey=***;EndpointSuffix=core.windows.net'
    """
    text = _logins_hidden(_BLOCK.sub(rf"\1{HIDDEN}\2", _shortened(text)), HIDDEN)
    text = _ORACLE.sub(rf"\1\2/{HIDDEN}@", text)
    for pattern in _PATTERNS:
        text = pattern.sub(_hide, text)
    return _LOOKS.sub(HIDDEN, text)


def _shortened(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        each if len(each) <= LONGEST_LINE else each[:LONGEST_LINE] + HIDDEN for each in lines
    )


def _hide(match: re.Match[str]) -> str:
    """The name of a parameter, with its value hidden inside its quotes, if it has some."""
    value = match[2]
    if len(value) > 1 and value[0] + value[-1] in ("''", '""', "{}"):
        return f"{match[1]}{value[0]}{HIDDEN}{value[-1]}"
    return f"{match[1]}{HIDDEN}"


def _logins_hidden(text: str, instead: str) -> str:
    def hide(match: re.Match[str]) -> str:
        scheme, user, colon, password = match.groups()
        if not (user + password) or _VARIABLE.fullmatch(password) or password == instead:
            return match[0]
        if not colon:  # the name of a user, or a token
            name = user or password
            is_token = scheme.lower().removesuffix("://") in _WEB or len(name) >= _TOKEN
            return f"{scheme}{instead if is_token else name}@"
        return f"{scheme}{user}:{instead}@"

    def line(each: str) -> str:
        if "@" not in each:
            return each
        whole = _LOGIN.sub(hide, each)
        if whole != each or _LOGIN.search(each):
            return whole
        last = each.rindex("@") + 1
        odd = _ODD_LOGIN.sub(hide, each[:last], count=1) + each[last:]
        return _ODD_TOKEN.sub(hide, each) if odd == each else odd

    return "\n".join(map(line, text.split("\n")))


# -- study files -----------------------------------------------------------------------------------

_COMMENT = r"#[^\n]*"
_STRING = r'"""(?:[^\\]|\\.)*?"{3,5}' "|'''(?s:.)*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'"
_PIECE = re.compile(rf"(?P<string>{_STRING})|(?P<comment>{_COMMENT})", re.DOTALL)


def redacted(text: str, sources: Collection[str]) -> str:
    """The text of a TOML file, with no secrets in its comments nor in what it says of its sources.

    Parameters
    ----------
    text : str
        The file.
    sources : collection of str
        The addresses, files and queries that it names.

    Examples
    --------
    >>> redacted('token = "it"  # password=x', [])
    'token = "it"  # password=***'
    """
    changed = {each: without_secrets(each) for each in sources}

    def tidy(match: re.Match[str]) -> str:
        if match["comment"]:
            return without_secrets(match[0])
        value = _value(match[0])
        return match[0] if changed.get(value, value) == value else _literal(changed[value])

    return _PIECE.sub(tidy, text)


def _value(literal: str) -> str:
    """What a string of TOML stands for; nothing if it is not one."""
    try:
        return str(tomllib.loads(f"x = {literal}")["x"])
    except tomllib.TOMLDecodeError:
        return ""


def _literal(value: str) -> str:
    """A string as TOML writes it, over several lines if it has some."""
    safe = value.replace("\\", "\\\\")
    shown = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda each: f"\\u{ord(each[0]):04x}", safe)
    if "\n" in value:
        return '"""\n' + shown.replace('"""', '""\\"').removesuffix('"') + _last(shown) + '"""'
    return '"' + shown.replace('"', '\\"').replace("\t", "\\t") + '"'


def _last(shown: str) -> str:
    return '\\"' if shown.endswith('"') else ""


def strings_of(*tables: Any) -> Iterator[str]:
    """All texts in some values, however deep.

    Examples
    --------
    >>> list(strings_of(["a.csv", "b.csv"], None, "select 1"))
    ['a.csv', 'b.csv', 'select 1']
    """
    for each in tables:
        if isinstance(each, str):
            yield each
        elif isinstance(each, list | tuple):
            yield from strings_of(*each)


# -- the environment -------------------------------------------------------------------------------


def with_variables(address: str) -> str:
    """An address whose password is left to the environment, and so can be written down.

    Examples
    --------
    >>> with_variables("postgresql://ann:s3cret@db/loans?token=x")
    'postgresql://ann:${DB_PASSWORD}@db/loans?token=${DB_SECRET}'
    """
    address = _logins_hidden(address, "${DB_PASSWORD}")
    return _PARAMETER.sub(r"\1${DB_SECRET}", address)


def filled_in(address: str) -> str:
    """An address with its ``${NAME}`` filled in from the environment.

    Examples
    --------
    >>> filled_in("sqlite:///loans.db")
    'sqlite:///loans.db'
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(
                f"the address {without_secrets(address)!r} asks for {match[1]} of the environment, "
                "which is not set.",
                hint=f"set it before you start: export {match[1]}=...",
            )
        return quote(os.environ[match[1]], safe="")

    return _VARIABLE.sub(value, address)
