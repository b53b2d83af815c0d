"""A small made-up table, its schema, and the command line, run in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.schemas import AGE, REGION, SCORE, SEX, declared
from typer.testing import CliRunner

from equipoise.cli import app

SCHEMA = declared(SEX, AGE, SCORE, REGION, total=(2.0, 1e-6), ledger="people.ledger.sqlite")

HEADER = "sex,age,score,region"


def rows(num_rows: int = 200) -> list[str]:
    """Made-up lines of the table, with dependence between the columns."""
    rng = np.random.default_rng(5)
    lines = []
    for _ in range(num_rows):
        age = int(rng.integers(0, 100))
        sex = "Female" if rng.random() < 0.3 + 0.005 * age else "Male"
        region = ("North", "South", "East")[int(rng.integers(0, 3)) if age < 50 else 0]
        lines.append(f"{sex},{age},{rng.random() * 10:.3f},{region}")
    return lines


@dataclass(frozen=True)
class Result:
    """What a command did."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Everything it said, with the line breaks that a terminal's width makes taken out."""
        return " ".join((self.stdout + " " + self.stderr).split())

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Bench:
    """A folder with the table and its schema, and the commands run on it."""

    folder: Path

    @property
    def table(self) -> Path:
        return self.folder / "people.csv"

    @property
    def schema(self) -> Path:
        return self.folder / "people.toml"

    @property
    def ledger(self) -> Path:
        return self.folder / "people.ledger.sqlite"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def write_rows(self, lines: list[str], header: str = HEADER) -> None:
        self.table.write_text("\n".join([header, *lines]) + "\n")

    def run(self, *arguments: object) -> Result:
        found = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return Result(found.exit_code, found.stdout, found.stderr)

    def release(self, *more: object, epsilon: object = 1, out: Path | None = None) -> Result:
        """A quick release: few rounds of mwem on three columns."""
        given = [str(item) for item in more]
        defaults = {
            "--schema": self.schema,
            "--columns": "sex,age,region",
            "--workload": "2-way",
            "--method": "mwem",
            "--option": "num_rounds=3",
        }
        chosen = [part for name, value in defaults.items() if name not in given for part in (name, value)]
        if "--domain" in given:
            chosen = chosen[2:]
        if "--option" in chosen:
            chosen += ["--option", "moves=cell"]
        return self.run("release", self.table, *chosen, "--epsilon", epsilon, "-o", out or self.out, *given)


def make_bench(folder: Path) -> Bench:
    bench = Bench(folder)
    bench.write_rows(rows())
    bench.schema.write_text(SCHEMA)
    return bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench with one finished release in `out`; tests must not change it."""
    bench = make_bench(tmp_path_factory.mktemp("released"))
    result = bench.release("--seed", 7)
    assert result.exit_code == 0, result.text
    return bench
