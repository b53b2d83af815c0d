"""Experiments, declared: which methods play on which tables at which budgets, how often, and what a paper claims of it.

Each is a TOML file in `experiments/`. A line of a plot is either *private*, a method with fixed options, or a
*NON-PRIVATE grid search*, as the papers report it: every combination of the grid is run and the best one shown for each
epsilon, chosen by true errors, which no user could do.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.bench.figures import Figure
from equipoise.errors import SettingError

__all__ = ["Claim", "Declared", "Experiment", "Line", "Panel", "declared", "load", "names"]

Option = bool | int | float | str


class Declared(BaseModel):
    """Refuses words that it does not know, so that a misspelt one is not silently left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


AnyDeclared = TypeVar("AnyDeclared", bound=Declared)


def declared(form: type[AnyDeclared], name: str) -> AnyDeclared:
    """What a file of `experiments/` says, in another form than an experiment's."""
    text = files("equipoise.bench").joinpath("experiments", f"{name}.toml").read_text(encoding="utf-8")
    return form.model_validate(tomllib.loads(text))


class Line(Declared):
    """One line of a plot.

    Attributes:
        name: As in the legend; unique within a panel.
        method: The algorithm.
        options: Its options.
        grid: For options of the papers' search the values that are tried; makes the line non-private.
        quick_grid: The fewer values that a quick run tries; all of them unless given.
        quick_epsilons: The fewer budgets that a quick run has of a slow method; the quick run's unless given.
        of: Of a grid search, the line with fixed options that it belongs to and shares its colour with.
        public: A public table.
        quick: Whether a quick run has it.
    """

    name: str
    method: str
    options: dict[str, Option] = Field(default_factory=dict)
    grid: dict[str, list[Option]] = Field(default_factory=dict)
    quick_grid: dict[str, list[Option]] = Field(default_factory=dict)
    quick_epsilons: tuple[float, ...] | None = None
    of: str | None = None
    public: str | None = None
    quick: bool = True

    @property
    def is_private(self) -> bool:
        """Whether what the line shows could be had by a user at the stated budget."""
        return not self.grid

    @property
    def label(self) -> str:
        """What must be said of it."""
        return "private" if self.is_private else "NON-PRIVATE grid search"

    def combinations(self, *, quick: bool = False) -> Iterator[dict[str, Option]]:
        """The options of every run: one set, or one for each point of the grid."""
        grid = self.grid | self.quick_grid if quick else self.grid
        for values in itertools.product(*grid.values()):
            yield self.options | dict(zip(grid, values, strict=True))


class Panel(Declared):
    """One plot: a table and the lines on it.

    Attributes:
        title: As in the paper, or what stands in for it.
        table: A workload file's name, which names its table.
        stand_in: What the paper had here, if this is another table.
        epsilons: The budgets; those of the experiment unless given.
    """

    title: str
    table: str
    stand_in: str | None = None
    epsilons: tuple[float, ...] | None = None
    quick: bool = True
    lines: tuple[Line, ...] = Field(alias="line")


class Claim(Declared):
    """A paper's finding: one line lies below another, at every epsilon of a panel.

    Attributes:
        why: What is known of the reason, where it does not hold here.
    """

    panel: str
    better: str
    worse: str
    says: str
    why: str = ""


class Quick(Declared):
    """What a quick run has less of."""

    runs: int = 1
    epsilons: tuple[float, ...]


class Experiment(Declared):
    """A named experiment.

    Attributes:
        paper: A key of references.bib.
        like: Another experiment whose runs this one shows: what is not said here is as there, and runs are kept there.
        only: The panels it shows of that one; all unless given.
        errors: Which errors are plotted, of the sampled rows.
        kind: "accuracy" runs beside each other, one core each; "timing" runs are alone on the machine.
        about: What the paper shows, and what of it is different here.
    """

    name: str
    title: str
    paper: str | None = None
    figure: str = ""
    about: str = ""
    like: str | None = None
    only: tuple[str, ...] = ()
    kind: Literal["accuracy", "timing"] = "accuracy"
    errors: tuple[Literal["max", "mean", "rmse", "tv"], ...] = ("max",)
    runs: int = Field(default=5, ge=1)
    epsilons: tuple[float, ...]
    quick: Quick
    panels: tuple[Panel, ...] = Field(alias="panel")
    claims: tuple[Claim, ...] = Field(default=(), alias="claim")

    def figures(self, *, quick: bool = False) -> dict[str, list[Figure]]:
        """What is run, without repetitions: for each line, by "panel / line", its figures."""
        found: dict[str, list[Figure]] = {}
        for panel in self.panels:
            for line in panel.lines:
                if quick and not (panel.quick and line.quick):
                    continue
                found[f"{panel.title} / {line.name}"] = [
                    Figure(panel.table, line.method, epsilon, options=tuple(options.items()), public=line.public)
                    for epsilon in self.epsilons_of(panel, line, quick=quick)
                    for options in line.combinations(quick=quick)
                ]
        return found

    @property
    def kept_as(self) -> str:
        """The folder of its runs."""
        return self.like or self.name

    def epsilons_of(self, panel: Panel, line: Line | None = None, *, quick: bool = False) -> tuple[float, ...]:
        """The budgets of a panel, or of one of its lines."""
        given = panel.epsilons or self.epsilons
        fewer = (line.quick_epsilons if line is not None else None) or self.quick.epsilons
        return tuple(epsilon for epsilon in given if not quick or epsilon in fewer)


def names() -> list[str]:
    """The experiments there are.

    Example:
        >>> "s001-fig1" in names()
        True
    """
    folder = files("equipoise.bench").joinpath("experiments")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str) -> Experiment:
    """An experiment by its name.

    Raises:
        SettingError: There is none, or its file is not one.
    """
    return parse(_text(name))


def _text(name: str) -> str:
    if name not in names():
        raise SettingError(f"there is no experiment {name!r}; the experiments are {', '.join(names())}")
    return files("equipoise.bench").joinpath("experiments", f"{name}.toml").read_text(encoding="utf-8")


def parse(text: str) -> Experiment:
    """An experiment from the text of its file.

    Raises:
        SettingError: It says what is wrong with the file.
    """
    try:
        body = _completed(tomllib.loads(text))
        experiment = Experiment.model_validate(body)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"the experiment is not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingError(f"the experiment's {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    known = {(panel.title, line.name) for panel in experiment.panels for line in panel.lines}
    if len(known) != sum(len(panel.lines) for panel in experiment.panels):
        raise SettingError("two lines of the experiment have the same panel and name; give each its own")
    for line in (line for panel in experiment.panels for line in panel.lines):
        if line.of is not None and all(line.of != name for _, name in known):
            raise SettingError(f"{line.name} belongs to {line.of}, which the experiment does not have")
        if not set(line.quick_epsilons or ()) <= set(experiment.quick.epsilons):
            raise SettingError(f"the quick epsilons of {line.name} are not all among those of a quick run")
        for option, values in line.quick_grid.items():
            if not set(values) <= set(line.grid.get(option, ())):
                raise SettingError(f"the quick grid of {line.name} has values of {option} that its grid lacks")
    for claim in experiment.claims:
        for name in (claim.better, claim.worse):
            if (claim.panel, name) not in known:
                raise SettingError(f"a claim is about {claim.panel} / {name}, which the experiment does not have")
    return experiment


def _completed(body: dict[str, Any]) -> dict[str, Any]:
    """With what another experiment says, if it is like one: its panels, or some of them, and the claims about these."""
    if "like" not in body:
        return body
    whole = tomllib.loads(_text(str(body["like"]))) | body
    if not (only := body.get("only")):
        return whole
    panels = [panel for panel in whole["panel"] if panel["title"] in only]
    if len(panels) != len(only):
        raise SettingError(f"the experiment is to show panels that {body['like']} does not have; see its file")
    return whole | {"panel": panels, "claim": [each for each in whole.get("claim", []) if each["panel"] in only]}
