"""Whole visits, a wrong token, an exhausted allowance, a session that ended, a server killed in the middle."""

from __future__ import annotations

import threading
from pathlib import Path

from playwright.sync_api import Browser, Page, expect
from tests.service.console.conftest import Site, sign_in, told, value_of

import equipoise as eq


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
    page.get_by_role("link", name="Batches", exact=True).click()
    told(page, "No batches were called for yet.")
    page.get_by_role("link", name="Audit log").click()
    told(page, "start release")
    told(page, "Ada <script>")  # whom it was about, by name
    page.get_by_role("button", name="Sign out").click()
    told(page, "With the token that the steward gave you")


def test_an_analysts_whole_visit(page: Page, site: Site) -> None:
    sign_in(page, site.invite("Bob"))
    told(page, "You have asked nothing yet.")
    page.get_by_role("link", name="Schema").click()
    page.get_by_label("Find a column or a value").fill("nort")
    expect(page.locator("details")).to_have_count(1)
    expect(page.locator("details")).to_contain_text("region")
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
    expect(page.locator("#result svg circle")).to_have_count(2)
    page.get_by_text("marginal of sex").wait_for()
    page.get_by_role("button", name="Show").click()
    page.get_by_role("button", name="Hide").wait_for()
    expect(page.locator("td svg circle")).to_have_count(2)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("cell", name="age in 20..59 and sex = Female")).to_have_count(2)
    expect(page.locator("td svg circle")).to_have_count(2)  # the list was drawn anew, and what was open still is
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all your answers").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 5  # a title, two queries, two cells
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
    expect(page.locator("#result h2", has_text="5 answers")).to_be_in_viewport()
    page.get_by_role("button", name="Ask all").click()
    page.locator("form .error:not(:empty)").wait_for()
    assert "3" in page.locator("dd").nth(1).inner_text()
    assert value_of(page, "document.documentElement.scrollWidth") <= 380
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


def test_a_session_that_was_ended_says_so(page: Page, site: Site) -> None:
    token = site.invite("Gone")
    sign_in(page, token)
    expect(page.get_by_label("As text")).not_to_have_value("")
    (who,) = [found["id"] for found in site.steward.analysts("asked") if found["name"] == "Gone"]
    site.steward.revoke("asked", who)
    page.get_by_role("button", name="Ask", exact=True).click()
    told(page, "You are no longer signed in. Reload this page to sign in again.")
    page.reload()
    told(page, "With the token that the steward gave you")


def test_a_call_for_batches_is_answered_and_another_withdrawn(page: Page, site: Site) -> None:
    terms = {"epsilon": 0.5, "analyst_epsilon": 0.5, "num_analysts": 20, "queries_each": 9}
    first = site.steward.open_collection("collected", mode="noise", **terms)
    token = site.invite("Henry", "collected")
    sign_in(page, token)
    page.get_by_role("link", name="Batches").click()
    page.get_by_label("Queries, one a line").fill("sex = Female\nmarginal sx")
    page.get_by_role("button", name="Hand in").click()
    page.locator("form .error:not(:empty)").wait_for()
    page.get_by_label("Queries, one a line").fill("sex = Female\nmarginal sex")
    page.get_by_role("button", name="Hand in").click()
    told(page, "Your batch is handed in")
    site.steward.wait(site.steward.close_collection(first))
    site.steward.withdraw_collection(site.steward.open_collection("collected", **terms))
    page.reload()
    told(page, "The steward has withdrawn this call")
    expect(page.locator("main svg circle")).to_have_count(3)
    told(page, "paid: cost some of the table")
