"""Start the server of a workbench on this computer, and print its address."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from elfair.errors import InputError
from elfair.serve.access import Secret
from elfair.serve.app import application
from elfair.serve.bench import Bench
from elfair.serve.jobs import Jobs
from elfair.serve.workspace import Workspace

HOST = "127.0.0.1"
#: So many requests are answered at once; others are told to come back.
MOST_AT_ONCE = 256


def serve(
    folder: Path,
    *,
    port: int = 0,
    write: bool = False,
    within: Sequence[str | Path] = (),
    servers: Sequence[str] = (),
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a folder on this computer until Ctrl-C.

    Parameters
    ----------
    folder : Path
        The folder with tables and studies.
    port : int, default 0
        Where; 0 takes a free one.
    write : bool, default False
        Whether pages may change files and run commands.
    within : sequence of str or Path
        Folders whose files studies may read, beside the served one.
    servers : sequence of str
        Hosts of databases that studies may ask.
    tell : callable
        Is given the address.
    """
    if not folder.is_dir():
        raise InputError(f"'{folder}' is no folder.", hint="name the folder of your tables.")
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise InputError(
            "the workbench needs a system with file locks, such as Linux or macOS.",
            hint="use the commands init, check, plan and fit, which do the same.",
        ) from None
    with contextlib.closing(_listening(port)) as listening:
        secret = Secret(port=listening.getsockname()[1])
        space = Workspace(folder)
        bench = Bench(
            space,
            Jobs(space.folder),
            secret,
            write,
            tuple(str(Path(each).resolve()) for each in within),
            tuple(servers),
        )
        tell(f"http://{HOST}:{secret.port}/?token={secret.token}")
        config = uvicorn.Config(
            application(bench),
            log_level="warning",
            access_log=False,  # it would print the secret
            lifespan="off",
            server_header=False,
            proxy_headers=False,  # nothing stands between the browser and this server
            limit_concurrency=MOST_AT_ONCE,
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(MOST_AT_ONCE)  # before the address is printed: somebody may open it at once
    except OSError as error:
        found.close()
        raise InputError(
            f"port {port} cannot be used: {error.strerror}.", hint="leave --port out to take any."
        ) from None
    return found
