"""The code blocks of a Markdown page: which are run, and how."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from equipoise.cli import app

FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,}) *(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$", re.M | re.S
)
RUN = frozenset({"python", "console"})
SHOWN = frozenset({"text", "toml", "bibtex", "mermaid", ""})


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its code, where it is, and why it is not run, if it is not."""

    language: str
    code: str
    line: int
    not_run: bool


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of a page. `.not-run` among its attributes or a comment before it says that it is not."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        info, indent = found["info"].strip(), len(found["indent"])
        words = re.findall(r"\.([\w-]+)", info) if info.startswith("{") else info.split()[:1]
        code = "".join(line[indent:] for line in found["body"].splitlines(keepends=True))
        before = text[: found.start()].rstrip().rsplit("\n", 1)[-1]
        not_run = "not-run" in words or before.startswith("<!-- not run:") or code.startswith("--8<--")
        yield Block(words[0] if words else "", code, text[: found.start()].count("\n") + 1, not_run)


def run_block(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Run a block as a reader would, after those before it: Python in one namespace, commands in the same folder."""
    if block.language == "python":
        # Lines of the traceback are those of the page.
        exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
        return
    for line in block.code.replace("\\\n", " ").splitlines():
        assert line.startswith("$ equipoise "), f"{page.name}, line {block.line}: not a command of ours: {line}"
        words = shlex.split(line.removeprefix("$ equipoise "), comments=True)
        shown = CliRunner().invoke(app, words)
        assert shown.exit_code == 0, f"{page.name}, line {block.line}: {line}\n{shown.output}"
