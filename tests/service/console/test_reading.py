"""Everybody can use it: by keyboard, on a phone, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.service.console.conftest import Site, sign_in, told

CONTRASTS = Path(__file__).with_name("contrasts.js").read_text()


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


def pages(role: str) -> list[str]:
    if role == "analyst":
        return ["ask", "schema", "batches", "downloads"]
    return ["tables", *[f"tables/asked{tab}" for tab in ("", "/analysts", "/releases", "/batches", "/log")], "log"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("role", ["steward", "analyst"])
def test_every_page_can_be_read_on_a_phone(browser: Browser, site: Site, scheme: Any, role: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(site.process.address)
    sign_in(page, site.process.token if role == "steward" else site.invite(f"Reader {scheme}"))
    for path in pages(role):
        page.goto(f"{site.process.address}/console/#/{path}")
        page.locator("main h1").wait_for()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        assert page.evaluate(
            "[...document.querySelectorAll('.scroll')].every((n) => n.scrollWidth <= n.clientWidth)"
        ), path
        assert page.evaluate(CONTRASTS) == [], path
    context.close()


def test_what_cannot_be_read_would_be_found(page: Page) -> None:
    page.get_by_label("Token").wait_for()
    assert page.evaluate(CONTRASTS) == []
    page.evaluate("document.querySelector('main p').style.setProperty('color', '#aaa')")
    page.evaluate("document.querySelector('input').style.setProperty('border-color', '#ddd')")
    assert len(page.evaluate(CONTRASTS)) == 2


def test_the_focus_is_seen_and_stays_where_it_was(page: Page, site: Site) -> None:
    sign_in(page, site.process.token)
    site.invite("Frances")
    page.goto(f"{site.process.address}/console/#/tables/asked/analysts")
    revoke = page.get_by_role("row", name="Frances").get_by_role("button", name="Revoke")
    renew = page.get_by_role("row", name="Frances").get_by_role("button", name="Renew")
    renew.focus()
    page.keyboard.press("Tab")
    assert revoke.evaluate("(node) => node === document.activeElement")
    assert revoke.evaluate("(node) => getComputedStyle(node).outlineStyle") == "solid"
    page.keyboard.press("Shift+Tab")
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("Enter")
    told(page, "The token of Frances")
    expect(renew).to_be_focused()  # though the table was drawn anew
