# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium, driven over its debugging pipe.

The browser gets a profile folder of its own and no network.  Errors of the console and of scripts
are collected in Browser.errors.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import time

LIMIT = 120     # seconds for a command; a loaded machine is slow


class BrowserError(Exception):
    """The browser ended, or did not respond."""


def find():
    """Returns the path of a Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page in a browser."""

    def __init__(self, folder):
        to_browser, self.send_fd = os.pipe()
        self.receive_fd, from_browser = os.pipe()
        high = (os.dup(to_browser), os.dup(from_browser))

        def descriptors():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        args = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync",
                "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
                "--remote-debugging-pipe", f"--user-data-dir={folder}/chromium"]
        with open(f"{folder}/chromium.log", "wb") as log:
            # pylint: disable-next=subprocess-popen-preexec-fn
            self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=(3, 4, *high), preexec_fn=descriptors)
        for fd in (to_browser, from_browser, *high):
            os.close(fd)
        self.number = 0
        self.rest = b""
        self.events = []
        self.errors = []
        self.requests = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        """Ends the browser."""
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(LIMIT)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.send_fd)
        os.close(self.receive_fd)

    def read(self, until):
        """Reads one message; None at the time `until`."""
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.receive_fd], [], [], left)[0]:
                return None
            more = os.read(self.receive_fd, 1 << 20)
            if not more:
                raise BrowserError("the browser ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        """Keeps an event, and what is wrong."""
        method, params = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(f"console.{params['type']}: {params['args']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        """Runs a command of the debugging protocol; returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send_fd, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + LIMIT
        while True:
            answer = self.read(until)
            if answer is None:
                raise BrowserError(f"{method}: no response in {LIMIT} s")
            if answer.get("id") != self.number:
                self.note(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def run(self, script):
        """Evaluates JavaScript in the page; returns the value."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, script):
        """Waits until JavaScript is true."""
        until = time.monotonic() + LIMIT
        while not self.run(script):
            if time.monotonic() > until:
                raise BrowserError(f"not true in {LIMIT} s: {script}")
            time.sleep(0.05)

    def open(self, path, fragment="", width=1280, height=800, dark=False):
        """Opens a file and waits until the page is ready."""
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank' && document.readyState === 'complete'")
        self.errors.clear()
        self.requests.clear()
        self.size(width, height, dark)
        self.call("Page.navigate", url=f"file://{path}{fragment}")
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        self.wait("document.body.dataset.ready === 'yes'")

    def size(self, width, height, dark=False):
        """Sets the size of the window and the color scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def key(self, key, text=None):
        """Presses and releases a key."""
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40}
        params = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        if len(key) == 1 or text:
            params["text"] = text or key
        self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        """Types a text."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, clicks=0):
        """Sends an event of the mouse."""
        pressed = kind != "mouseMoved" or clicks
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=clicks,
                  button="left" if pressed else "none", buttons=1 if clicks else 0)

    def click(self, x, y):
        """Clicks."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y, 1)

    def double_click(self, x, y):
        """Clicks twice."""
        self.click(x, y)
        self.mouse("mousePressed", x, y, 2)
        self.mouse("mouseReleased", x, y, 2)

    def drag(self, x, y, to_x, to_y):
        """Drags the mouse."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseMoved", (x + to_x) / 2, (y + to_y) / 2, 1)
        self.mouse("mouseMoved", to_x, to_y, 1)
        self.mouse("mouseReleased", to_x, to_y, 1)

    def screenshot(self, path):
        """Writes what the window shows to a PNG file."""
        image = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(image))
