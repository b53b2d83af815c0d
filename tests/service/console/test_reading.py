"""Everybody can use it: by keyboard, on a phone, in light and dark."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.service.console.conftest import Site, shown, sign_in, told, value_of

CONTRASTS = f"({Path(__file__).with_name('contrasts.js').read_text()})()"


def test_everything_is_reached_by_keyboard(page: Page, site: Site) -> None:
    page.get_by_label("Token").wait_for()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.get_by_label("Token").focus()
    page.keyboard.type(site.process.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Tables").wait_for()
    expect(page.locator("#main")).to_be_focused()
    unnamed = """[...document.querySelectorAll('input, select, textarea, button, a')].filter((node) =>
        !(node.labels && node.labels.length) && !node.textContent.trim() && !node.getAttribute('aria-label')).length"""
    assert value_of(page, unnamed) == 0


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
        shown(page, path)
        assert value_of(page, "document.documentElement.scrollWidth") <= 390, path
        assert value_of(
            page, "[...document.querySelectorAll('.scroll')].every((n) => n.scrollWidth <= n.clientWidth)"
        ), path
        assert value_of(page, CONTRASTS) == [], path
    context.close()


def test_what_cannot_be_read_would_be_found(page: Page) -> None:
    page.get_by_label("Token").wait_for()
    assert value_of(page, CONTRASTS) == []
    value_of(page, "document.querySelector('main p').style.setProperty('color', '#aaa')")
    value_of(page, "document.querySelector('input').style.setProperty('border-color', '#ddd')")
    assert len(value_of(page, CONTRASTS)) == 2


def test_the_focus_is_seen_and_stays_where_it_was(page: Page, site: Site) -> None:
    sign_in(page, site.process.token)
    site.invite("Frances")
    shown(page, "tables/asked/analysts")
    revoke = page.get_by_role("row", name="Frances").get_by_role("button", name="Revoke")
    renew = page.get_by_role("row", name="Frances").get_by_role("button", name="Renew")
    renew.focus()
    page.keyboard.press("Tab")
    expect(revoke).to_be_focused()
    expect(revoke).to_have_css("outline-style", "solid")
    page.keyboard.press("Shift+Tab")
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("Enter")
    told(page, "The token of Frances")
    expect(renew).to_be_focused()  # though the table was drawn anew


FORBIDDEN = {"evaluate", "evaluate_all", "evaluate_handle", "wait_for_function", "eval_on_selector", "bypass_csp"}
FORBIDDEN |= {"wait_for_load_state"}  # a quiet network is no drawn page: a change of the address' last part makes none


def names_in(source: str) -> set[str]:
    """Every attribute and every keyword of a call."""
    nodes = list(ast.walk(ast.parse(source)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {str(node.arg) for node in nodes if isinstance(node, ast.keyword)}


def test_no_test_of_the_console_looks_by_a_way_that_the_policy_may_stop() -> None:
    assert FORBIDDEN & names_in("page.wait_for_function(words)")
    for path in Path(__file__).parent.glob("*.py"):
        assert not FORBIDDEN & names_in(path.read_text()), path.name
