"""The documentation: it builds without a network, no link is dead, and what it shows runs."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.blocks import RUN, SHOWN, blocks, run_block

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "use": "href"}
"""What a browser fetches by itself."""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_code_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("people.csv", "people.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        assert block.language in RUN | SHOWN, f"{page.name}, line {block.line}: is {block.language} run or shown?"
        if block.language in RUN and not block.not_run:
            run_block(block, page, namespace)


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text\n\n``` { .python title='x' }\nassert False, 'seen'\n```\n\n```console\n$ equipoise nothing\n```\n"
    )
    first, second = blocks(page)
    with pytest.raises(AssertionError, match="seen"):
        run_block(first, page, {})
    with pytest.raises(AssertionError, match="line 7"):
        run_block(second, page, {})


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_runs_and_shows_what_it_printed(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    body = nbformat.read(notebook, as_version=4)
    shown = [cell for cell in body.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) >= 3, "stored without outputs: run `make notebooks`"
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    NotebookClient(body, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


class Links(HTMLParser):
    """Where a page leads, what it fetches, and what can be led to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag in LOADED and values.get(LOADED[tag]) and values.get("rel") != "canonical":
            self.fetched.append(str(values[LOADED[tag]]))


def built(out: Path) -> dict[str, Links]:
    """The built site: for every page, by its path, what it has. The build is strict: it fails on any warning."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for path in out.rglob("*.html"):
        found[str(path.relative_to(out))] = links = Links()
        links.feed(path.read_text(encoding="utf-8"))
    return found


def is_dead(page: str, link: str, site: dict[str, Links], out: Path) -> bool:
    """Whether a link leads nowhere: an inner one to no file or no anchor; an outer one is judged by its form."""
    parts = urlsplit(link)
    if parts.scheme:
        return parts.scheme not in ("https", "http", "mailto") or (parts.scheme != "mailto" and "." not in parts.netloc)
    target = os.path.normpath(Path(page).parent / unquote(parts.path)) if parts.path else page
    target = str(Path(target) / "index.html") if (out / target).is_dir() else target
    if not (out / target).is_file():
        return True
    fragment = unquote(parts.fragment)
    return bool(fragment) and target in site and fragment not in site[target].anchors


def test_the_site_builds_has_no_dead_link_and_fetches_nothing(tmp_path: Path) -> None:
    out = tmp_path / "site"
    site = built(out)
    site.pop("404.html")  # its links are absolute, for any depth
    assert len(site) > 15
    dead = [
        (page, link) for page, its in site.items() for link in its.links + its.fetched if is_dead(page, link, site, out)
    ]
    assert not dead
    fetched = [(page, each) for page, its in site.items() for each in its.fetched if urlsplit(each).netloc]
    assert not fetched
    for sheet in out.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:|@import ['\"]?https?:", sheet.read_text(encoding="utf-8")), sheet.name
    for page in (ROOT / "docs").glob("*.md"):
        assert f"{page.stem}.html" in site["glossary.html"].links, f"{page.name} is in no place of the navigation"


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    site = {"a.html": Links(), "b/c.html": Links()}
    site["b/c.html"].anchors = {"here"}
    (tmp_path / "b").mkdir()
    for page in site:
        (tmp_path / page).touch()
    alive = ["b/c.html", "b/c.html#here", "#", "https://example.org/x", "mailto:x@example.org"]
    dead = ["d.html", "b/c.html#there", "../a.html/", "https:///x", "javascript:x()"]
    assert [link for link in alive + dead if is_dead("a.html", link, site, tmp_path)] == dead


def test_plots_get_captions_and_names_do_not_break_anywhere() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    drawn = '<p><img alt="A" src="figures/a.svg" />\n<img alt="B" src="figures/b.svg" /></p>'
    shown = hooks["on_page_content"](drawn)
    assert shown.count("<figure>") == 2
    assert "<figcaption>A</figcaption>" in shown
    assert "<figcaption>B</figcaption>" in shown
    other = '<p><img alt="A" src="report.png" /></p><pre><span></span><code>a_long_name/of/a_file.py</code></pre>'
    assert hooks["on_page_content"](other) == other, "what is no plot stays; code that is copied too"
    names = hooks["on_page_content"]("<code>--minutes</code><code>tests/audits/test_leaks.py -m __all__</code>")
    assert '<code class="whole">--minutes</code>' in names
    assert "tests/<wbr>audits/<wbr>test_<wbr>leaks.py -m __<wbr>all__" in names
    assert hooks["on_page_content"]("<td>127 (83 %)</td><p>5 %</p>") == "<td>127 (83&nbsp;%)</td><p>5 %</p>"
