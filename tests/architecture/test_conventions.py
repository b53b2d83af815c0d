"""Rules that no linter knows: who opens private counts, what an algorithm file says, what is cited and registered."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from equipoise.algorithms import ALGORITHMS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "equipoise"
REPOSITORY = SOURCE.parents[1]
MODULES = sorted(SOURCE.rglob("*.py"))


def test_only_mechanisms_and_the_stewards_evaluation_open_private_counts() -> None:
    users = {str(path.relative_to(SOURCE)) for path in MODULES if re.search(r"\breveal\b", path.read_text())}
    users = {user for user in users if not user.startswith("bench/")}  # benchmarks run on public tables only
    assert users == {
        "privacy/private.py",
        "privacy/mechanisms.py",
        "privacy/above_threshold.py",
        "privacy/conditional.py",
        "privacy/capped.py",
        "privacy/mixture_error.py",
        "evaluation.py",
    }


def test_only_the_perturbed_minimum_opens_private_records() -> None:
    users = {str(path.relative_to(SOURCE)) for path in MODULES if re.search(r"\bunseal\b", path.read_text())}
    assert users == {"privacy/private_points.py", "privacy/perturbed.py"}


def test_no_seeded_generator_protects_data() -> None:
    """The private side and the query players draw from OpenDP and the operating system only."""
    for folder in ("privacy", "query_players", "engines"):
        for path in (SOURCE / folder).glob("*.py"):
            assert not re.search(r"np\.random|import random|default_rng", path.read_text()), path.name


@pytest.mark.parametrize("cls", ALGORITHMS, ids=lambda cls: cls.name)
def test_an_algorithm_file_reads_like_its_paper(cls: type) -> None:
    module = importlib.import_module(cls.__module__)
    text = Path(str(module.__file__)).read_text()
    assert len(text.splitlines()) < 150
    for heading in ("Paper:", "Pseudo-code", "Here", "Guarantee:", "Accuracy:", "Differences from the paper:"):
        assert heading in str(module.__doc__), heading
    assert f"`{cls.name}`" in (REPOSITORY / "README.md").read_text()


def test_every_citation_resolves() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (SOURCE / "report" / "references.bib").read_text()))
    cited = set()
    for path in MODULES:
        cited |= set(re.findall(r"\b([a-z]+20\d\d[a-z]+|[a-z]+19\d\d[a-z]+)\b", path.read_text()))
    assert cited <= known, cited - known
    for cls in ALGORITHMS:
        assert set(cls.citations) <= known


def test_mechanisms_and_prices_state_their_guarantees() -> None:
    for name in ("privacy/mechanisms.py", "privacy/prices.py"):
        tree = ast.parse((SOURCE / name).read_text())
        guarded = {
            "privacy/mechanisms.py": {
                "measure",
                "measure_pure",
                "select",
                "select_pure",
                "draw",
                "keep",
                "ConditionalTest",
            },
            "privacy/prices.py": {"cost", "calls_of_conditional_release"},
        }[name]
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in guarded:
                assert "Guarantees:" in (ast.get_docstring(node) or ""), node.name
                guarded = guarded - {node.name}
        assert not guarded


def test_exported_names_exist() -> None:
    for path in MODULES:
        if path.name == "__main__.py":
            continue
        name = "equipoise." + str(path.relative_to(SOURCE).with_suffix("")).replace("/", ".").removesuffix(".__init__")
        module = importlib.import_module(name.removesuffix("."))
        for exported in getattr(module, "__all__", ()):
            assert hasattr(module, exported), f"{name}.{exported}"


def test_nothing_names_a_machine_or_a_registry() -> None:
    suspicious = re.compile(r"/home/|/root/|/work/|pypi|simple/", re.IGNORECASE)
    for path in [*MODULES, *REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), REPOSITORY / "constraints.txt"]:
        found = suspicious.search(path.read_text())
        assert found is None, f"{path.name}: {found}"
