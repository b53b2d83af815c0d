"""The console in a real browser: whole visits, a wrong token, an exhausted allowance, a server killed in the middle."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.service.conftest import TOTAL, make_table
from tests.service.processes import Process

import equipoise as eq

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
ARGUMENTS += ["--disable-component-update", "--disable-quic"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: install Debian's chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@dataclass
class Site:
    """A server with a steward and two tables: one as found, one open for questions."""

    process: Process
    steward: eq.Client

    def invite(self, name: str) -> str:
        return self.steward.invite("asked", name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    make_table(folder / "root", "fresh")
    make_table(folder / "root", "asked")
    process = Process(folder / "root", folder / "state").start()
    try:
        with eq.Client(process.address, token=process.token) as steward:
            steward.register("asked.csv", schema="asked.toml", **TOTAL)
            steward.open_for_questions(
                "asked", mode="noise", epsilon=10.0, analyst_epsilon=1.0, num_analysts=9, queries_each=8
            )
            yield Site(process, steward)
    finally:
        process.stop()


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page that fails its test on any script error or anything that the content-security policy stopped."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
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


def test_a_wrong_token(page: Page) -> None:
    page.get_by_label("Token").fill("eqp_nonsense")
    page.get_by_role("button", name="Sign in").click()
    told(page, "the token is unknown, expired or revoked")
    assert page.get_by_role("button", name="Sign out").count() == 0


def test_a_stewards_whole_visit(page: Page, site: Site, tmp_path: Path) -> None:
    sign_in(page, site.process.token)
    expect(page.locator("header")).to_contain_text("steward")
    expect(page.locator("header")).not_to_contain_text("steward, steward")
    page.get_by_label("Table", exact=True).select_option("fresh.csv")
    page.get_by_label("Schema").select_option("fresh.toml")
    page.get_by_label("Total data budget, epsilon").fill("10")
    page.get_by_role("button", name="Register").click()
    page.get_by_role("heading", name="fresh").wait_for()
    told(page, "Nothing has been spent yet.")
    page.get_by_label("Mechanism").select_option("noise")
    page.get_by_role("button", name="Open for questions").click()
    told(page, "every answer has noise of its own")
    page.get_by_role("link", name="Analysts", exact=True).click()
    told(page, "Nobody is invited yet.")
    page.get_by_label("Name").fill("Ada <script>alert(1)</script>")
    page.get_by_role("button", name="Invite").click()
    token = page.locator("#token").inner_text()
    assert token.startswith("eqp_")
    told(page, "Ada <script>")  # as text
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke").click()
    told(page, "revoked")
    page.get_by_role("link", name="Releases", exact=True).click()
    page.get_by_label("Workload").fill("nonsense")
    page.get_by_role("button", name="Start").click()
    page.locator(".error", has_text="nonsense").wait_for()
    page.get_by_label("Workload").fill("2-way")
    page.get_by_label("Method").fill("mwem")
    page.get_by_label("Columns").fill("sex, region")
    page.get_by_role("button", name="Start").click()
    link = page.get_by_role("link", name="statement.json")
    link.wait_for(timeout=180_000)
    with page.expect_download() as download:
        link.click()
    assert '"guarantee"' in Path(download.value.path()).read_text()
    page.get_by_role("link", name="Budget", exact=True).click()
    told(page, "mwem")
    page.get_by_role("button", name="Freeze").click()
    page.get_by_role("button", name="Unfreeze").wait_for()
    page.get_by_role("link", name="Audit log").click()
    told(page, "start release")
    page.get_by_role("button", name="Sign out").click()
    told(page, "With the token that the steward gave you")


def test_an_analysts_whole_visit(page: Page, site: Site) -> None:
    sign_in(page, site.invite("Bob"))
    told(page, "You have asked nothing yet.")
    page.get_by_role("link", name="Schema").click()
    page.get_by_label("Find a column or a value").fill("nort")
    told(page, "region")
    assert page.locator("details").count() == 1
    page.get_by_role("link", name="Ask").click()
    page.get_by_label("Column", exact=True).select_option("age")
    page.get_by_label("From").select_option(label="20..39")
    page.get_by_label("To").select_option(label="40..59")
    expect(page.get_by_label("As text")).to_have_value("age in 20..59")
    page.get_by_label("As text").fill("age in 20..59 and sx = Female")
    page.locator(".error", has_text="expected a column").wait_for()
    page.get_by_label("As text").fill("age in 20..59 and sex = Female")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#result .big").wait_for()
    assert "±" in page.locator("#result").inner_text()
    page.locator("fieldset", has_text="Columns").get_by_label("sex").check()
    told(page, "2 questions")
    page.get_by_role("button", name="Ask all").click()
    page.locator("#result h2", has_text="2 answers").wait_for()
    assert page.locator("#result svg circle").count() == 2
    page.get_by_text("marginal of sex").wait_for()
    page.get_by_role("link", name="Downloads").click()
    told(page, "The steward has shared no release with you.")
    page.get_by_role("link", name="Batches").click()
    told(page, "The steward has not called for batches.")


def test_an_exhausted_allowance_on_a_phone(browser: Browser, site: Site) -> None:
    context = browser.new_context(viewport={"width": 380, "height": 760}, color_scheme="dark")
    page = context.new_page()
    page.goto(site.process.address)
    sign_in(page, site.invite("Eve"))
    page.get_by_label("As text").wait_for()
    page.locator("fieldset", has_text="Columns").get_by_label("age").check()
    page.get_by_role("button", name="Ask all").click()
    page.locator("#result h2", has_text="5 answers").wait_for()
    page.get_by_role("button", name="Ask all").click()
    page.locator("form .error:not(:empty)").wait_for()
    assert "3" in page.locator("dd").nth(1).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    context.close()


def test_the_server_is_killed_in_the_middle_of_a_question(page: Page, site: Site) -> None:
    token = site.invite("Mallory")
    sign_in(page, token)
    expect(page.get_by_label("As text")).not_to_have_value("")
    site.process.kill()
    page.get_by_role("button", name="Ask", exact=True).click()
    told(page, "The server does not answer. Trying again")
    restart = threading.Thread(target=site.process.start)
    restart.start()
    page.locator("#result .big").wait_for(timeout=120_000)
    restart.join()
    assert page.locator("#notice p").count() == 0
    with eq.Client(site.process.address, token=token) as mallory:
        assert mallory.table()["left"] == 7  # asked more than once, counted and paid for once


def test_everything_is_reached_by_keyboard(page: Page, site: Site) -> None:
    page.get_by_label("Token").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.get_by_label("Token").focus()
    page.keyboard.type(site.process.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Tables").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"
    unnamed = """[...document.querySelectorAll('input, select, textarea, button, a')].filter((node) =>
        !(node.labels && node.labels.length) && !node.textContent.trim() && !node.getAttribute('aria-label')).length"""
    assert page.evaluate(unnamed) == 0
