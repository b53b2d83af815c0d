"""Claims that fuzzing wrote: refused or checked, never a crash."""

from __future__ import annotations

from equipoise.verification.claims import check_claims


def claim(delta: float, epsilon: float) -> dict[str, object]:
    event = {"kind": "exponential", "epsilon": "1/50", "num_selected": 1}
    guarantee = {
        **{"epsilon": epsilon, "delta": delta, "rho": 0.1, "rho_exact": "1/10", "curve": {}, "rows_per_unit": 1},
        **{"definition": "pure differential privacy", "unit": "one record"},
        "adjacency": "one record replaced by another; the number of records is public",
    }
    words = "private selection of 1 query, epsilon 0.02"
    item = {"event": event, "words": words, "times": 2, "rho": 0.1, "epsilon": 0.04}
    return {"guarantee": guarantee, "events": [item]}


def test_a_delta_that_is_zero_as_a_float_claims_pure_epsilon() -> None:
    assert all(check.holds for check in check_claims(claim(0.0, 0.04)))
    assert [check.what for check in check_claims(claim(0.0, 0.039)) if not check.holds] == ["pure epsilon"]
