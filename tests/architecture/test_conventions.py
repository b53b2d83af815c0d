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


PROMISES_NOTHING = {
    "privacy/__init__.py": "names only",
    "privacy/accountant.py": "names only",
    "privacy/analyst_tables.py": "tables of the database",
    "privacy/anchor.py": "a file; what follows from it is said by chain and backup",
    "privacy/composed_events.py": "records, as events.py",
    "privacy/event_words.py": "words",
    "privacy/events.py": "records of what was done; prices.cost says what each is worth",
    "privacy/inspection.py": "checks, and spends nothing",
    "privacy/primitive_events.py": "records, as events.py",
    "privacy/recorded.py": "a pair of two things that say it",
    "privacy/store.py": "the database",
    "privacy/stored_events.py": "how an event is written down",
    "privacy/stored_moves.py": "how a move is written down",
}
SAYS_IT_ELSEWHERE = {
    # protocols, results and plain records
    *("Paid", "Book", "Turn", "Payer", "Noise", "Sensitive", "Unseen", "PublicPoints", "Blocks", "Chosen", "State"),
    *("Update", "Head"),
    # texts, names, identifiers, times
    *("cost_to_text", "cost_from_text", "refusal", "canonical", "analysts_name", "second_id", "now", "new_secret"),
    # open, close and find, which charge by way of what says it: Account, Run, charge, append
    *(
        "open_book",
        "close_session",
        "give_up",
        "SessionBook",
        "SealedBook",
        "Ledger",
        "write",
        "append",
        "require_anchored",
    ),
    *("head_of", "anchored", "backup"),
    # open what is sealed: their users are listed above, by name
    *("reveal", "unseal"),
    # settings of a mechanism: choosing one badly costs accuracy, not privacy
    *("stop_of", "accepted", "weighed", "blocks_within"),
}


NUMBERED = r"(Theorem|Lemma|Proposition|Corollary|Algorithm|Claim|Fact)"
PARTS = {
    "precondition": r"Precondition",
    "statement": r"Statement|Postcondition",
    "proof or citation": rf"[Pp]roof\b|Lemma [A-D]\b|\b[a-z]+(19|20)\d\d[a-z]+,\s+{NUMBERED}",
}
"""What a section has, and how one knows it; lemmas A to D are proved in docs/mechanisms.md."""


def _promising(source: Path = SOURCE) -> list[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes of the private side that debit, price, convert, compose or add noise: all public ones."""
    found: list[tuple[str, ast.FunctionDef | ast.ClassDef]] = []
    for path in sorted((source / "privacy").glob("*.py")):
        name = f"privacy/{path.name}"
        found += [
            (name, node)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and node.name not in SAYS_IT_ELSEWHERE
            and name not in PROMISES_NOTHING
        ]
    return found


def _lacking(source: Path = SOURCE) -> list[str]:
    """Of what promises something, which part of its Guarantees section is missing."""
    lacking = []
    for name, node in _promising(source):
        _, heading, section = (ast.get_docstring(node) or "").partition("Guarantees:")
        section = re.split(r"\n(Args|Returns|Raises|Example|Attributes):", section)[0] if heading else ""
        lacking += [f"{name}: {node.name}: {part}" for part, words in PARTS.items() if not re.search(words, section)]
    return lacking


def test_mechanisms_and_the_accountant_state_their_guarantees() -> None:
    """Of each: a precondition, a statement, and a proof or a citation by number."""
    assert len(_promising()) > 75
    assert _lacking() == []


@pytest.mark.parametrize(
    ("docstring", "lacking"),
    [
        ("What it costs.", [*PARTS]),
        ("What it costs.\n\n    Guarantees:\n        Private.\n    ", [*PARTS]),
        ("X.\n\n    Guarantees:\n        Precondition: p. Statement: s.\n    ", ["proof or citation"]),
        (
            "X.\n\n    Guarantees:\n        Statement: s. Proof: q.\n\n    Raises:\n        E: Precondition.",
            ["precondition"],
        ),
        ("X.\n\n    Guarantees:\n        Precondition: p. Statement: dwork2014book, Theorem 3 in v1.\n    ", []),
    ],
)
def test_a_function_without_a_guarantee_is_found(tmp_path: Path, docstring: str, lacking: list[str]) -> None:
    """In a new file, and not exported: nobody has to remember to name it anywhere."""
    (tmp_path / "privacy").mkdir()
    text = f'def price_of_something_new(rho):\n    """{docstring}"""\n    return rho\n'
    (tmp_path / "privacy" / "something_new.py").write_text(text)
    where = "privacy/something_new.py: price_of_something_new: "
    assert _lacking(tmp_path) == [where + part for part in lacking]


def test_no_exception_to_that_is_out_of_date() -> None:
    names = {
        node.name
        for path in (SOURCE / "privacy").glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert names >= SAYS_IT_ELSEWHERE
    for name in PROMISES_NOTHING:
        assert (SOURCE / name).is_file()


@pytest.mark.parametrize("name", ["online", "per_analyst", "per_query", "pmw", "statistics"])
def test_a_mechanism_for_analysts_says_what_it_guarantees_to_whom(name: str) -> None:
    says = str(importlib.import_module(f"equipoise.analysts.{name}").__doc__)
    for heading in ("Guarantee:", "Accuracy:"):
        assert heading in says, heading
    promise = says.split("Guarantee:", 1)[1].split("Accuracy:", 1)[0].lower()
    assert ("people" in promise and "analyst" in promise) or "that of the session's mode" in promise


def test_learning_says_what_it_guarantees() -> None:
    """The learners of `learning/` are `privacy.learner.Learner`, whose mechanisms state it; each is named there."""
    from equipoise.privacy import learner

    says = str(learner.__doc__)
    for name in learner.MECHANISMS:
        assert name in says
    assert "Guarantees:" in str(learner.Learner.__doc__)


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
