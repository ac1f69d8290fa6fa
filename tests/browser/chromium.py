"""A headless Chromium, driven over a pipe by its own protocol: no driver and no package between.

The protocol is documented at https://chromedevtools.github.io/devtools-protocol; messages are JSON,
each ended by a zero byte, on the file descriptors 3 (to the browser) and 4 (from it).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # What a page asks of another host is recorded, and goes nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Width, height and whether it is a phone (whose browser heeds <meta name="viewport">).
VIEWS = {"phone": (375, 812, True), "desktop": (1280, 900, False)}
#: Only the child's descriptors have fixed numbers, and only a program in the child can give them.
START = "import os, sys; i, o, *c = sys.argv[1:]; os.dup2(int(i), 3); os.dup2(int(o), 4); "
START += "os.execvp(c[0], c)"
PATIENCE = 30.0
QUIET = 0.1


def executable() -> str | None:
    """Where Chromium is, if it is there; ELFAIR_CHROMIUM names another one."""
    return next(
        filter(None, map(shutil.which, (os.environ.get("ELFAIR_CHROMIUM", ""), *NAMES))), None
    )


class Chromium:
    """A running browser. Pages are opened by `page`; `close` ends it."""

    def __init__(self, program: str, profile: Path) -> None:
        profile.mkdir(parents=True, exist_ok=True)
        self.log = profile / "stderr.txt"
        ends = [*os.pipe(), *os.pipe()]
        child_in, self._to, self._from, child_out = ends
        # Clear of 3 and 4, which the child fills.
        passed = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (child_in, child_out)]
        start = [sys.executable, "-S", "-c", START, *map(str, passed)]
        home = {"XDG_CONFIG_HOME": str(profile), "XDG_CACHE_HOME": str(profile)}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*start, program, *FLAGS, f"--user-data-dir={profile / 'data'}"],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | home,
            )
        for end in (child_in, child_out, *passed):
            os.close(end)
        self._buffer = b""
        self._count = 0
        self._replies: dict[int, dict[str, Any]] = {}
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        self.version: str = self.call("Browser.getVersion")["product"]

    def page(self) -> Page:
        """A new page that shares nothing (storage, settings) with others."""
        return Page(self)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Ask the browser (or one of its pages) for something, and wait for the answer."""
        self._count = number = self._count + 1
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        self.wait(lambda: number in self._replies, what=method)
        reply = self._replies.pop(number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return dict(reply["result"])

    def listen(self, session: str, heard: Callable[[str, dict[str, Any]], None]) -> None:
        """Send the events of a page there."""
        self._listeners[session] = heard

    def wait(self, ready: Callable[[], bool], *, what: str, patience: float = PATIENCE) -> None:
        """Take messages in until something has come about."""
        end = time.monotonic() + patience
        while not ready():
            if not self._hear(end - time.monotonic()):
                raise TimeoutError(f"{what}: nothing in {patience:g} s")

    def settle(self) -> None:
        """Take messages in until none comes for a moment: what a page loads late is loaded."""
        end = time.monotonic() + PATIENCE
        while self._hear(QUIET) and time.monotonic() < end:
            pass

    def close(self) -> None:
        """End the browser, and wait until it has ended."""
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            self._process.kill()
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hear(self, patience: float) -> bool:
        """Take in what there is, waiting for it no longer than that; whether there was anything."""
        if not select.select([self._from], [], [], max(patience, 0))[0]:
            return False
        chunk = os.read(self._from, 1 << 20)
        if not chunk:
            said = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"Chromium has ended. It said:\n{said}")
        *messages, self._buffer = (self._buffer + chunk).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._replies[message["id"]] = message
            elif heard := self._listeners.get(message.get("sessionId", "")):
                heard(message["method"], message["params"])
        return True


class Page:
    """A page, and all it said and asked for.

    Attributes
    ----------
    console : list of str
        "level: text" of what scripts printed and of what the browser itself complained about.
    errors : list of str
        Exceptions that no script caught.
    requests : list of str
        Every address that was asked for, that of the page included.
    """

    def __init__(self, browser: Chromium) -> None:
        self.console: list[str] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._browser = browser
        self._loaded = False
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )["targetId"]
        self._session = self._attach(target)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.view("desktop")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Anything the protocol has."""
        return self._browser.call(method, self._session, **params)

    def open(self, address: str | Path) -> None:
        """Go there (a path is a file on disk), and wait until all is loaded."""
        url = address.resolve().as_uri() if isinstance(address, Path) else address
        self._loaded = False
        failure = self.call("Page.navigate", url=url).get("errorText")
        if failure:
            raise RuntimeError(f"{url}: {failure}")
        self._browser.wait(lambda: self._loaded, what=url)
        self._browser.settle()

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression; that of a promise is waited for."""
        told = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in told:
            raise RuntimeError(_exception(told["exceptionDetails"]))
        return told["result"].get("value")

    def wait_for(self, condition: str, *, patience: float = PATIENCE) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + patience
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"not in {patience:g} s: {condition}")
            time.sleep(0.02)

    def type(self, text: str) -> None:
        """Type into what has the focus, key by key."""
        for character in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=character)
            self.call("Input.dispatchKeyEvent", type="keyUp")

    def view(self, name: Literal["phone", "desktop"]) -> None:
        """Take the width and height of a phone (375 x 812) or of a desktop (1280 x 900)."""
        width, height, mobile = VIEWS[name]
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def emulate(
        self,
        *,
        scheme: Literal["light", "dark"] = "light",
        media: Literal["screen", "print"] = "screen",
    ) -> None:
        """Be a reader who likes it light or dark, on a screen or on paper."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self._browser.settle()

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen; 0 if nothing scrolls sideways."""
        root = "document.documentElement"
        return int(self.evaluate(f"Math.max(0, {root}.scrollWidth - {root}.clientWidth)"))

    def screenshot(self, path: Path, *, full: bool = False) -> Path:
        """Take a picture (PNG) of what is seen, or of the full length."""
        path.parent.mkdir(parents=True, exist_ok=True)
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """Print it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
        )
        return path

    def close(self) -> None:
        """Close it, and forget its storage."""
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def _attach(self, target: str) -> str:
        attached = self._browser.call("Target.attachToTarget", targetId=target, flatten=True)
        session = str(attached["sessionId"])
        self._watch(session)
        return session

    def _watch(self, session: str) -> None:
        """Hear what a page, or a worker or a frame of it, does from its very beginning."""
        self._browser.listen(session, self._hear)
        self._browser.call("Network.enable", session)
        self._browser.call(
            "Target.setAutoAttach",
            session,
            autoAttach=True,
            waitForDebuggerOnStart=True,
            flatten=True,
        )

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Target.attachedToTarget":
            self._watch(params["sessionId"])
            self._browser.call("Runtime.runIfWaitingForDebugger", params["sessionId"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(_exception(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            words = (str(arg.get("value", arg.get("description"))) for arg in params["args"])
            self.console.append(f"{params['type']}: {' '.join(words)}")
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.console.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}".strip())


def _exception(details: dict[str, Any]) -> str:
    return str(details.get("exception", {}).get("description") or details["text"])
