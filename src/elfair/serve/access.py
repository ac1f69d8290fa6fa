"""Who may ask the server: this computer, by the secret of its address, from its own pages.

Every request passes here before anything looks at it. A page of another site that is open in the
same browser can send requests to this server, and a name of another site can be made to point to
this computer; neither is answered.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The names by which this computer may be called.
HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
#: The most bytes of a form, and of a file.
MOST_FORM, MOST_FILE = 4_000_000, 2_000_000_000
#: Where files are sent to.
UPLOAD = "/upload"
#: Pages load nothing but what this server sends, and run no script or style inside them.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: A report is a page of its own, with its styles inside and no script.
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": browsers would then hide where a form comes from.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Secret:
    """What the address of a server holds, and what follows from it.

    Parameters
    ----------
    token : str
        What the address that is printed at the start ends with.
    port : int
        The port: cookies know none, and two workbenches of one computer would share them.

    Examples
    --------
    >>> secret = Secret("abc", 80)
    >>> secret.cookie, secret.form == Secret("abd", 80).form
    ('elfair-80', False)
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    port: int = 0

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"elfair-{self.port}"

    @property
    def session(self) -> str:
        """The value of the cookie."""
        return self._derived("session")

    @property
    def form(self) -> str:
        """What every form of a page holds, and no other site can read."""
        return self._derived("form")

    def _derived(self, what: str) -> str:
        return hmac.new(self.token.encode(), what.encode(), sha256).hexdigest()


class RefusedError(Exception):
    """A request that is not answered.

    Parameters
    ----------
    status : int
        The status of HTTP.
    said : str
        Why, and what to do.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Guard:
    """The outermost part of the server.

    Parameters
    ----------
    app : callable
        What answers requests that pass.
    secret : Secret
        The secret of the address.
    write : bool
        Whether requests may change anything.
    open_to : iterable of str
        Paths that change nothing although something is sent to them.
    """

    def __init__(
        self, app: App, secret: Secret, *, write: bool, open_to: Iterable[str] = ()
    ) -> None:
        self._app, self._secret, self._write = app, secret, write
        self._open_to = tuple(open_to)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        try:
            self._check_origin(scope, headers)
            if entering := self._enters(scope):
                await _answer(send, 303, "", {"location": "/", "set-cookie": entering})
                return
            self._check_session(headers)
            if scope["method"] not in ("GET", "HEAD"):
                self._check_change(scope, headers)
        except RefusedError as refusal:
            await _answer(send, refusal.status, str(refusal))
            return
        most = MOST_FILE if scope["path"] == UPLOAD else MOST_FORM
        await self._app(scope, _limited(receive, most), _with_headers(send))

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """Only this computer by its own name, and only pages of this server."""
        host = headers.get("host", "")
        if _hostname(host) not in HOSTS:
            raise RefusedError(421, "This server answers to 127.0.0.1 and localhost alone.")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise RefusedError(403, "Requests from other sites are not answered.")
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope.get('scheme', 'http')}://{host}":
            raise RefusedError(403, "Requests from other sites are not answered.")

    def _enters(self, scope: Scope) -> str | None:
        """The cookie of whoever opens the address that the server printed."""
        if scope["method"] != "GET" or scope["path"] != "/":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if not given:
            return None
        if not _same(given[0], self._secret.token):
            raise RefusedError(403, "This is not the address that `elfair serve` printed last.")
        return f"{self._secret.cookie}={self._secret.session}; Path=/; HttpOnly; SameSite=Strict"

    def _check_session(self, headers: dict[str, str]) -> None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._secret.cookie)
        except CookieError:
            found = None
        if found is None or not _same(found.value, self._secret.session):
            raise RefusedError(
                403, "Open the address that `elfair serve` printed: it holds a secret."
            )

    def _check_change(self, scope: Scope, headers: dict[str, str]) -> None:
        """Something is sent: it must say where it comes from, and have a length that is allowed."""
        if scope["method"] != "POST":
            raise RefusedError(405, "Only GET and POST are answered.")
        if "origin" not in headers:
            raise RefusedError(403, "What is sent must say which page it comes from.")
        if not self._write and not scope["path"].endswith(self._open_to):
            raise RefusedError(
                403, "This workbench is read-only: start it with `elfair serve --write`."
            )
        most = MOST_FILE if scope["path"] == UPLOAD else MOST_FORM
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise RefusedError(413, f"At most {most:,} bytes may be sent.")


def _headers(scope: Scope) -> dict[str, str]:
    """The headers of a request; a name that is there twice counts for nothing."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = "" if key in found else value.decode("latin-1")
    return found


def _hostname(host: str) -> str | None:
    try:
        found = urlsplit(f"//{host}")
        return found.hostname if found.netloc == host and found.port != 0 else None
    except ValueError:
        return None


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _limited(receive: Receive, most: int) -> Receive:
    """What is received, up to so many bytes: a request need not say its length, or tell the
    truth about it.
    """
    left = most

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise RefusedError(413, f"At most {most:,} bytes may be sent.")
        return message

    return limited


def _with_headers(send: Send) -> Send:
    """Every answer has the headers that are usual here; one that sets its own keeps it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            usual = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            own = [*message.get("headers", [])]
            message["headers"] = own + [each for each in usual if each[0] not in given]
        await send(message)

    return sending


async def _answer(send: Send, status: int, said: str, more: dict[str, str] | None = None) -> None:
    """A few plain words."""
    body = f"{said}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    headers |= {**HEADERS, "connection": "close"} | (more or {})
    start = {"type": "http.response.start", "status": status}
    start["headers"] = [(k.encode(), v.encode()) for k, v in headers.items()]
    await send(start)
    await send({"type": "http.response.body", "body": body})
