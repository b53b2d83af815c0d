"""The console in a real browser, at a service of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.service.conftest import TOTAL, make_table
from tests.service.processes import Process

import equipoise as eq

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
ARGUMENTS += ["--disable-component-update", "--disable-quic"]
PATIENCE = 60_000
"""Milliseconds: on a busy machine an answer may take long."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: install Debian's chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@dataclass
class Site:
    """A server with a steward and three tables: one as found, one open for questions, one for questions and batches."""

    process: Process
    steward: eq.Client

    def invite(self, name: str, table: str = "asked") -> str:
        return self.steward.invite(table, name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    for name in ("fresh", "asked", "collected"):
        make_table(folder / "root", name)
    process = Process(folder / "root", folder / "state").start()
    try:
        with eq.Client(process.address, token=process.token) as steward:
            for name in ("asked", "collected"):
                steward.register(f"{name}.csv", schema=f"{name}.toml", **TOTAL)
                terms = {"epsilon": 10.0, "analyst_epsilon": 1.0, "num_analysts": 20, "queries_each": 8}
                steward.open_for_questions(name, mode="noise", **terms)
            yield Site(process, steward)
    finally:
        process.stop()


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page that fails its test on any script error or anything that the content-security policy stopped."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda line: broken.append(line.text) if "Content Security Policy" in line.text else None)
    page.on(
        "request", lambda request: None if request.url.startswith(site.process.address) else broken.append(request.url)
    )
    page.goto(site.process.address)
    yield page
    context.close()
    assert broken == []


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def told(page: Page, words: str) -> None:
    page.get_by_text(words).first.wait_for()


def shown(page: Page, path: str) -> None:
    """Go to a page of the console and wait for it: its link is marked at the moment when it is drawn."""
    page.goto(f"{page.url.partition('#')[0]}#/{path}")
    page.locator(f"a[aria-current][href='#/{path}']").wait_for()


def value_of(page: Page, expression: str) -> Any:
    """The value of an expression, as the browser's debugger finds it.

    Playwright's `evaluate` and `wait_for_function` call `eval` in the page, which the content-security policy forbids:
    the first borrows an exception from it, the second fails whenever it must look twice. This needs neither.
    """
    debugger = page.context.new_cdp_session(page)
    asked = {"expression": expression, "returnByValue": True, "allowUnsafeEvalBlockedByCSP": False}
    reply = debugger.send("Runtime.evaluate", asked)
    debugger.detach()
    assert "exceptionDetails" not in reply, reply
    return reply["result"].get("value")
