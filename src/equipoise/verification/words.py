"""The sentences of a statement, written again from its numbers: who reads only them must not be told something else.

They belong to the published form. Written down anew, like the prices: `equipoise.privacy` words them by itself, and a
test holds the two together. A later version that words a kind of event otherwise must still take what this one says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from equipoise.errors import OutputError
from equipoise.verification.terms import Body, exact

__all__ = ["adjacency_of", "definitions_of", "words_of"]

SENTENCES = {
    "gaussian": "noisy measurement, Gaussian noise of standard deviation {deviation:.4g} counts, squared sensitivity"
    " {sensitivity_squared}",
    "laplace": "noisy measurement, Laplace noise of scale {scale:.4g} counts, sensitivity {sensitivity}",
    "exponential": "private selection of {num_selected} {queries}, epsilon {epsilon:.4g}",
    "permute_and_flip": "private selection of 1 query (permute-and-flip), epsilon {epsilon:.4g}",
    "conditional_release": "conditional release of up to {max_hits} values, epsilon {epsilon:.4g} a test",
    "draws": "private draw of {num_draws} {queries} from weighted ones, epsilon {epsilon:.4g} each",
    "coins": "private decision on each of {num_coins} queries whether to keep it, rate {rate:.4g}",
    "separator_laplace": "private choice of 1 query by noise on {num_separators} separators, Laplace noise of scale"
    " {counts:.4g} counts, if the solver's certificate holds",
    "separator_gaussian": "private choice of 1 query by noise on {num_separators} separators, Gaussian noise of"
    " standard deviation {counts:.4g} counts, if the solver's certificate holds",
    "prsma": "private choice of 1 query on random blocks, epsilon {all_epsilon:.4g}, delta {all_delta:.3g}",
    "above_threshold": "tests against one noisy threshold until {max_positives} are positive, epsilon {both:.4g}",
    "capped_hedge": "private draw of one {drawn} in each of {num_rounds} rounds, rate {rate:.4g}",
    "gated": "{num_runs} runs of a method, each within rho {budget:.4g}",
    "noisy_stop": "noise on when the mechanism moves on or stops, epsilon {epsilon:.4g}",
    "analyst_game": "{num_rounds} records from a game that one analyst's part changes by {distance:.3g} a round, rate"
    " {rate:.4g}",
    "tuned": "the best of a random number of runs ({law}, {mean:.3g} in the mean), each within {currency} {budget:.4g}",
}
"""What a kind of event says; its own parameters, and what `_derived` makes of them."""
SAID_AS_FRACTIONS = ("sensitivity_squared", "sensitivity")


def words_of(body: Body) -> str:
    """The sentence of one event.

    Raises:
        OutputError: its parameters cannot be read.
    """
    try:
        if body["kind"] == "group":
            return f"{words_of(body['event'])}; charged for {int(body['size'])} rows a unit"
        return SENTENCES[body["kind"]].format(**dict(_read(body)), **dict(_derived(body)))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise OutputError(f"the statement holds an event {body.get('kind')!r} that cannot be put in words") from error


def _read(body: Body) -> Iterator[tuple[str, Any]]:
    """Parameters as they are said: fractions as numbers of a few digits, but sensitivities exactly."""
    for name, value in body.items():
        if isinstance(value, str) and name not in ("kind", "law"):
            yield name, exact(value) if name in SAID_AS_FRACTIONS else float(exact(value))
        else:
            yield name, value


def _derived(body: Body) -> Iterator[tuple[str, Any]]:
    match body["kind"]:
        case "gaussian":
            yield "deviation", math.sqrt(exact(body["variance"]))
        case "exponential" | "draws":
            number = body["num_selected"] if body["kind"] == "exponential" else body["num_draws"]
            yield "queries", "query" if number == 1 else "queries"
        case "separator_laplace":
            yield "counts", float(exact(body["scale"]) / body["grid"])
        case "separator_gaussian":
            yield "counts", float(exact(body["stddev"]) / body["grid"])
        case "prsma":
            yield "all_epsilon", float(62 * exact(body["epsilon"]))
            yield "all_delta", float(11 * exact(body["delta"]))
        case "above_threshold":
            yield "both", float(exact(body["threshold_epsilon"]) + exact(body["tests_epsilon"]))
        case "capped_hedge":
            yield "drawn", "query" if body["draws"] == 1 else "analyst and query"
        case "tuned":
            runs = float(1 / exact(body["stop"]))
            yield "mean", runs if body["law"] == "geometric" else (runs - 1) / math.log(runs)
            yield "currency", "epsilon" if body["pure"] else "rho"


def definitions_of(claim: Mapping[str, Any], *, is_zcdp: bool) -> tuple[str, ...]:
    """What a guarantee of these figures may call itself."""
    if float(claim["delta"]) == 0:
        return ("pure differential privacy",)
    usual = "(epsilon, delta)-differential privacy"
    if not is_zcdp:
        return (usual, f"{usual} by Rényi divergence")
    together = f"{usual} by zCDP, for all answers to all analysts together"
    return (usual, f"{usual} by zCDP", f"{usual} by Gaussian differential privacy", together)


def adjacency_of(claim: Mapping[str, Any]) -> str:
    """Which tables are neighbours, for the guarantee's unit."""
    unit, size = str(claim["unit"]), int(claim["rows_per_unit"])
    if unit == "one record":
        return "one record replaced by another; the number of records is public"
    rows = "the one record" if size == 1 else f"up to {size} records"
    return f"{rows} of one unit ({unit}) replaced; the number of records is public"
