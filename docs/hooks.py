"""What the site is made of besides the pages of this folder: notebooks, commands, contributing, changelog.

`on_files` adds them as pages, so they are never out of step with what they are made from. `on_page_content` sees to it
that plots stand side by side with their captions, and that no line breaks in the middle of a name.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
FORM = "src/equipoise/verification/statement.schema.json"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List pages that have no place in the navigation under a heading of their own, so that none is out of reach."""
    placed = set(re.findall(r"[\w/-]+\.md", json.dumps(config.nav)))
    rest = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in placed)
    if config.nav is not None and rest:
        config.nav.append({"More": rest})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    made = {
        "changelog.md": _outside("CHANGELOG.md"),
        "contributing.md": _outside("CONTRIBUTING.md"),
        "security.md": _outside("SECURITY.md"),
        "commands.md": commands(),
    }
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        made[f"notebooks/{path.stem}.md"] = notebook(path)
    made["statement.schema.json"] = (ROOT / FORM).read_text(encoding="utf-8")
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links from a page to source files show their text only: the site has the published form, and no others."""
    markdown = markdown.replace(f"(../{FORM})", "(statement.schema.json)")
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:src|tests|examples)[^)]*\)", r"\1", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Plots with captions, whole names and whole percentages."""
    content = re.sub(r"<p>((?:<img [^>]*figures/[^>]*>|\s)+)</p>", _plots, content)
    content = re.sub(r"(?<!</span>)<code>([^<\n]+)</code>", _code, content)
    return re.sub(r"<td[^>]*>[^<]*</td>", lambda cell: re.sub(r"(?<=\d) %", "&nbsp;%", cell[0]), content)


def _plots(paragraph: re.Match[str]) -> str:
    """A paragraph of pictures: what each shows, told to those who cannot see it, is told to all."""
    drawn = [
        f"<figure>{each[0]}<figcaption>{each[1]}</figcaption></figure>"
        for each in re.finditer(r'<img [^>]*?alt="([^"]*)"[^>]*>', paragraph[1])
    ]
    return f'<div class="plots">{"".join(drawn)}</div>'


def _code(found: re.Match[str]) -> str:
    """A path may break after a slash or an underscore, a short word without a space nowhere."""
    text = found[1]
    if len(text) <= 20 and " " not in text:
        return f'<code class="whole">{text}</code>'
    breakable = re.sub(r"([/_])(?=[^/_])", r"\1<wbr>", text)
    return f"<code>{breakable}</code>"


def _outside(name: str) -> str:
    """A file of the repository's root as a page: links into docs/ become links between pages."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\((CONTRIBUTING|CHANGELOG|SECURITY)\.md\)", lambda found: f"]({found[1].lower()}.md)", text)


def commands() -> str:
    """Every command's help, as it prints it."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from equipoise.cli import app

    runner = CliRunner(env={"COLUMNS": "96", "TERM": "dumb", "NO_COLOR": "1"})
    root = get_command(app)
    parts = [
        "# Commands",
        "What `equipoise COMMAND --help` prints. Every command takes `--json` for one object on standard output;"
        " messages and progress go to standard error. Exit codes: " + str(root.epilog).removeprefix("Exit codes: "),
    ]
    for words in _command_words(root, ()):
        shown = runner.invoke(app, [*words, "--help"], prog_name="equipoise")
        text = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
        parts.append(f'## {" ".join(words)}\n\n<pre class="help">{html.escape(text)}</pre>')
    return "\n\n".join(parts) + "\n"


def _command_words(group: Any, before: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        found += [(*before, name)] if inner is None else _command_words(command, (*before, name))
    return found


def notebook(path: Path) -> str:
    """A notebook as a page: its text, its code, what the code printed when it was last run."""
    body = json.loads(path.read_text(encoding="utf-8"))
    parts = []
    for cell in body["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        printed = "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
        parts += [f"```text\n{printed.rstrip()}\n```"] if printed else []
        parts += [shown for output in cell["outputs"] if (shown := _output(output))]
    return (
        "\n\n".join(parts) + f"\n\n*This page is the notebook `examples/notebooks/{path.name}`, which the tests run.*\n"
    )


def _output(output: dict[str, Any]) -> str:
    """A cell's value, as a table or as text."""
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="output">\n{"".join(data["text/html"])}\n</div>'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```" if "text/plain" in data else ""
