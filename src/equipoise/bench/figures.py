"""The figures to reach on the yardstick tables, and the orderings that the papers report: all declared here.

A goal that is None is not set: the run is there to be compared with another (`ORDERINGS`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIGURES", "ORDERINGS", "Figure", "Ordering"]

Options = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Figure:
    """What one method, with its defaults unless options say otherwise, has to reach on one table.

    Attributes:
        table: A workload file's name, which names its table.
        epsilon: The budget; delta is 1/n^2.
        largest: Largest error of the sampled rows to reach.
        mean: Mean error of the sampled rows to reach.
        options: The method's options.
        public: A table given as public data.
    """

    table: str
    method: str
    epsilon: float
    largest: float | None = None
    mean: float | None = None
    options: Options = ()
    public: str | None = None

    @property
    def label(self) -> str:
        """The row's name: all that tells it from the others."""
        told = [f"{name}={value}" for name, value in self.options] + ([f"public={self.public}"] if self.public else [])
        return " ".join([self.table, self.method, f"{self.epsilon:g}", *told])


@dataclass(frozen=True)
class Ordering:
    """A paper's finding: one figure's largest error is below another's."""

    better: Figure
    worse: Figure
    claim: str


MAX: Options = (("objective", "max"),)
MEAN: Options = (("objective", "mean"),)
CELLS: Options = (("moves", "cell"),)

PEP = Figure("adult_reduced", "pep", 1.0, options=CELLS)
MWEM = Figure("adult_reduced", "mwem", 1.0, options=(*CELLS, ("replay", "none")))
PAPER: Options = (("mode", "paper"), ("num_rounds", 50))
GEM = Figure("adult", "gem", 1.0, 0.048, None, PAPER)
GEM_PUB = Figure("adult", "gem_pub", 1.0, None, None, PAPER, public="adult_public")
RAP_SOFTMAX = Figure("adult", "rap_softmax", 1.0, 0.039)
RAP = Figure("adult", "rap", 1.0, None, None, (("relaxation", "clip"), ("output", "relaxed")))

FIGURES = (
    Figure("adult", "auto", 1.0, 0.0075, 7.8e-5),
    Figure("adult", "auto", 1.0, 0.0060, None, MAX),
    Figure("adult", "auto", 1.0, None, 7.4e-5, MEAN),
    Figure("adult", "auto", 0.1, 0.032, 2.3e-4),
    Figure("adult_reduced", "auto", 1.0, 0.0028, 1.5e-4),
    Figure("adult_reduced", "auto", 0.1, 0.020, 6.5e-4),
    Figure("adult_star", "auto", 1.0, 0.0060, 3.0e-5),
    Figure("adult_star", "auto", 0.1, 0.040, 7e-5),
    Figure("loans", "auto", 1.0, 0.0060, 2.0e-5),
    Figure("loans", "auto", 0.1, 0.032, 4.5e-5),
    Figure("acs_national", "auto", 1.0, 0.017, 1.1e-4),
    Figure("acs_national", "auto", 0.1, 0.08, 2.0e-4),
    Figure("kdd99", "auto", 1.0, 0.005, 5e-5),
    Figure("kdd99", "auto", 0.1, 0.02, 2e-4),
    Figure("loans_wide", "auto", 1.0, 0.025, 1.5e-4),
    Figure("loans_wide", "auto", 0.1, 0.10, 2.5e-4),
    Figure("adult_reduced", "pep", 1.0, 0.0065, 3.3e-4),
    Figure("adult_reduced", "pep", 0.1, 0.047, None),
    Figure("adult_reduced", "mwem", 1.0, 0.025, None),
    Figure("adult_reduced", "mwem", 0.1, 0.07, None),
    PEP,
    MWEM,
    GEM,
    Figure("adult", "gem", 1.0),
    RAP_SOFTMAX,
    RAP,
    Figure("adult", "rap", 1.0, 0.039),
    GEM_PUB,
    Figure("adult", "gem_pub", 1.0, public="adult_public"),
    Figure("adult", "pmw_pub", 1.0, 0.0117, 8.8e-5, public="adult_public"),
    Figure("adult", "pmw_pub", 0.1, 0.0141, 9.1e-5, public="adult_public"),
    Figure("adult", "pep_pub", 1.0, 0.0117, 8.8e-5, public="adult_public"),
    Figure("adult", "pep_pub", 0.1, 0.0141, 9.1e-5, public="adult_public"),
    Figure("adult", "mixture_pub", 1.0, 0.0117, 8.8e-5, public="adult_public"),
    Figure("adult", "mixture_pub", 0.1, 0.0141, 9.1e-5, public="adult_public"),
    Figure("adult", "hdmm", 1.0),
)

ORDERINGS = (
    Ordering(PEP, MWEM, "PEP beats MWEM as published, single cells, each seen once (S001, figure 1)"),
    Ordering(RAP_SOFTMAX, RAP, "RAP-softmax beats RAP as published, clipped (S001, figure 6)"),
    Ordering(GEM_PUB, GEM, "GEM-Pub beats GEM with the paper's settings (S001, figure 2)"),
)
