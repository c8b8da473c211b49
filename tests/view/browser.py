"""A headless Chromium for tests: opens a page, tells what it asked for, what it said, and what axe-core finds in it."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import WebDriverWait

import promised

__all__ = ["NotRunnableError", "Page", "browser", "page"]

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1440,900",
)
SECONDS = 20


class Page:
    """The one page of a browser. Chromium and its driver are ended with the session."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self._driver = driver

    def open(
        self, path: Path, *, dark: bool = False, width: int = 1440, anchor: str = "", media: str = "screen"
    ) -> None:
        """Show a file and wait until the page says that it is ready."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self._driver.get("about:blank")
        self.console()
        self.requests()
        self._driver.get(f"{path.as_uri()}{anchor}")
        self.until("return document.readyState === 'complete'")

    def until(self, script: str) -> None:
        """Wait until a script says true."""
        WebDriverWait(self._driver, SECONDS).until(
            lambda driver: driver.execute_script(script), f"never true: {script}"
        )

    def run(self, script: str, *arguments: Any) -> Any:
        return self._driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        ActionChains(self._driver).send_keys(*keys).perform()

    def click(self, selector: str) -> None:
        self._driver.find_element("css selector", selector).click()

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def focused(self) -> str:
        """The accessible name, or else the id, of what has the focus."""
        script = "const e = document.activeElement; return e.getAttribute('aria-label') ?? e.id"
        return str(self.run(script))

    def console(self) -> list[str]:
        """What the console said since the last call."""
        return self._log("browser")

    def _log(self, name: str) -> list[str]:
        return [str(entry["message"]) for entry in self._driver.get_log(name)]  # type: ignore[no-untyped-call]

    def requests(self) -> list[str]:
        """The addresses that the page asked for since the last call."""
        messages = [json.loads(entry)["message"] for entry in self._log("performance")]
        sent = (each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent")
        return [url for url in sent if url != "about:blank"]

    def violations(self) -> list[str]:
        """What axe-core finds against WCAG 2.2 A and AA and its best practices, as "rule: element" lines.

        Injected through the debugger, because the page's own policy lets no foreign script run.
        """
        self._driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text()})
        self._driver.set_script_timeout(60)
        found = self._driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations']}).then(found => done(found.violations.flatMap(each =>"
            " each.nodes.map(node => `${each.id}: ${node.target.join(' ')}: ${node.failureSummary}`))))"
        )
        return list(found)

    def printed(self) -> bytes:
        """The page as a PDF, with what the browser's dialogue has chosen at first: no backgrounds."""
        media = {"media": ""}  # as it is when nothing is emulated, so that the browser itself takes that of paper
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        return base64.b64decode(self._driver.execute_cdp_cmd("Page.printToPDF", {})["data"])

    def screenshot(self, path: Path) -> None:
        self._driver.save_screenshot(str(path))


class NotRunnableError(Exception):
    """This machine has no browser for tests; the message says what is missing."""


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """A browser as long as the block runs. Raises NotRunnableError."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        raise NotRunnableError("no chromium or chromedriver: apt-get install chromium chromium-driver")
    if not AXE.exists():
        raise NotRunnableError("no axe-core: make setup")
    options = Options()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    try:
        yield Page(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    """A browser, kept for the session. Without one: a skip that tells why, or a failure in CI, where it is promised."""
    try:
        with browser() as opened:
            yield opened
    except NotRunnableError as reason:
        promised.not_runnable("a browser", reason)
