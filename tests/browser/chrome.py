"""A headless Chromium, driven over a pipe with the browser's own DevTools protocol: nothing to install but the browser.

Messages are JSON, each ended by a zero byte; the browser reads descriptor 3 and writes descriptor 4.
"""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WAIT = 60  # seconds until a browser that says nothing is given up
#: Puts the ends of the pipes where the browser expects them, and becomes the browser.
BECOME = """
import os, sys
ends = [os.dup(int(end)) for end in sys.argv[1:3]]
while min(ends) < 5:
    ends = [os.dup(end) for end in ends]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_browser():
    """The path of a browser (``CHROME`` names one), or None."""
    return os.environ.get("CHROME") or next(filter(None, map(shutil.which, NAMES)), None)


class Chrome:
    """A running browser with one page."""

    def __init__(self, binary, profile):
        to_it, from_us = os.pipe()
        from_it, to_us = os.pipe()
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-c", BECOME, str(to_it), str(to_us), binary, *options],
            pass_fds=(to_it, to_us),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(to_us)
        self.write, self.read = from_us, from_it
        self.left = b""
        self.sent = 0
        self.session = None
        self.events = []
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(info["targetId"] for info in pages if info["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Send one command and return its result."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.sent:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _next(self):
        while b"\0" not in self.left:
            part = os.read(self.read, 1 << 20)
            if not part:
                raise RuntimeError("the browser has gone")
            self.left += part
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, width=1280, height=900, dark=False):
        """Load a file in a window of a size, and wait until it is drawn."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.call("Page.navigate", url=f"file://{path}")
        end = time.monotonic() + WAIT
        while self.ask("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() > end:
                raise RuntimeError(f"{path} does not load")
            time.sleep(0.02)
        self.settle()

    def ask(self, expression):
        """The value of a JavaScript expression, which may be a promise."""
        made = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in made:
            raise RuntimeError(made["exceptionDetails"].get("exception", made["exceptionDetails"]))
        return made["result"].get("value")

    def settle(self):
        """Wait until the page has drawn what it was asked to."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)
        self.settle()

    def press(self, key, text=None, shift=False):
        more = {"text": text} if text else {}
        named = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Escape": 27, "Tab": 9}
        code = named.get(key, ord(key[0].upper()))
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                modifiers=8 if shift else 0,
                **(more if kind == "keyDown" else {}),
            )
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def picture(self, whole=True):
        """The page as PNG bytes."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        more = {"clip": clip, "captureBeyondViewport": True} if whole else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])

    def faults(self):
        """What the page complained of: exceptions, and messages of the browser."""
        self.ask("0")
        return [
            event["params"]
            for event in self.events
            if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        ]

    def requests(self):
        """Every address that the page asked for."""
        self.ask("0")
        asked = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in asked]

    def close(self):
        self.session = None
        with contextlib.suppress(RuntimeError, OSError):
            self.call("Browser.close")
        os.close(self.write)
        os.close(self.read)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
