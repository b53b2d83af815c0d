"""What a mode sets cannot be given beside it; everything else can, and is heeded."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from tests.games import triples

from equipoise.algorithms import ALGORITHMS, Setting, create
from equipoise.algorithms.algorithm import uses_public
from equipoise.data.public import PublicRows
from equipoise.errors import SettingError

OTHER: dict[str, Any] = {
    **{"num_rounds": 3, "num_draws": 2, "rate": "1/2", "num_records": 2, "memory": 2, "burn_in": 0.1},
    **{"noise_scale": 0.5, "num_extra_queries": 9, "selection_epsilon": "1/2", "selection_share": "1/3"},
    **{"law": "laplace", "replay": "threshold", "output": "last", "solver": "dual", "schedule": "annealed"},
    **{
        "moves": "marginal",
        "start": "uniform",
        "score": "total_less_noise",
        "oracle": "local_search",
        "trusted_rows": 5.0,
        "num_relaxed": 7,
    },
    **{
        "learning_rate": 0.5,
        "max_steps": 3,
        "num_products": 3,
        "public_rounds": 3,
        "weight_memory": 0.25,
        "resample": True,
    },
}
"""A value of each option; also one that is the default, or the mode's own: it would not be looked at either."""
MODES = [
    (cls, mode)
    for cls in ALGORITHMS
    if "mode" in {field.name for field in fields(cls)}
    for mode in get_args(get_type_hints(cls)["mode"])
    if mode != "practice"
]


def options_of(cls: Any, **options: Any) -> dict[str, Any]:
    game = triples()
    rows = PublicRows(game.rows[:, :50].astype(np.uint8), np.ones(50, dtype=np.int64), (0, 1, 2, 3), "public")
    public = rows if uses_public(cls) else None
    setting = Setting(game.workload, 10**7, Fraction(1, 2), None, 1, 2**60, public)
    return create(cls.name, options).plan(setting).options


@pytest.mark.parametrize(("cls", "mode"), MODES, ids=[f"{cls.name}-{mode}" for cls, mode in MODES])
def test_what_the_mode_sets_is_refused_and_the_rest_heeded(cls: Any, mode: str) -> None:
    alone = options_of(cls, mode=mode)
    for option in {field.name for field in fields(cls)} - {"mode"}:
        given = {option: OTHER[option]}
        if option in getattr(cls, "set_by_mode", {}).get(mode, "").split():
            with pytest.raises(SettingError, match=f'mode="{mode}" sets {option} itself; leave it out'):
                options_of(cls, mode=mode, **given)
            create(cls.name, given)
        elif option == "schedule":
            with pytest.raises(SettingError, match="needs whole marginals"):  # the mode plays single cells
                options_of(cls, mode=mode, **given)
        else:
            assert options_of(cls, mode=mode, **given)[option] != alone[option]


def test_all_that_clashes_is_named_at_once() -> None:
    with pytest.raises(SettingError, match="sets num_draws, rate itself; leave them out"):
        create("dual_query", {"num_draws": 3, "mode": "theory", "rate": "1/2"})
