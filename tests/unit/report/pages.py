"""Reading a report back: its tags, its text, and every address in it."""

from __future__ import annotations

from html.parser import HTMLParser

__all__ = ["Reader", "read", "words"]

VOID = {"meta", "br", "hr", "img", "link", "input"}
FETCHING = {"src", "href", "xlink:href", "action", "data", "poster", "srcset"}


class Reader(HTMLParser):
    """Collects what the tests ask of a page, and checks that its tags are balanced."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text: list[str] = []
        self.pictures = 0
        self.named_pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "title" and self.open and self.open[-1] == "svg":
            self.named_pictures += 1
        if tag == "svg" and dict(attrs).get("role") == "img":
            self.pictures += 1
        self.addresses += [value or "" for name, value in attrs if name in FETCHING]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in FETCHING]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


def read(page: str) -> Reader:
    """The page, taken apart; every tag that opens must close."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def words(page: str) -> str:
    """The text that a reader sees, with single spaces."""
    return " ".join(" ".join(read(page).text).split())
