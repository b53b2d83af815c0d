"""One file a paper's algorithm; this is the list of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from equipoise.algorithms.algorithm import Algorithm, Forecast, Plan, Players, Setting
from equipoise.algorithms.auto import Auto
from equipoise.algorithms.dqrs import Dqrs
from equipoise.algorithms.dual_query import DualQuery
from equipoise.algorithms.fem import Fem
from equipoise.algorithms.gem import Gem
from equipoise.algorithms.gem_pub import GemPub
from equipoise.algorithms.hdmm import Hdmm
from equipoise.algorithms.mixture import Mixture
from equipoise.algorithms.mixture_pub import MixturePub
from equipoise.algorithms.mwem import Mwem
from equipoise.algorithms.oracle_query import OracleQuery
from equipoise.algorithms.pep import Pep
from equipoise.algorithms.pep_pub import PepPub
from equipoise.algorithms.pmw_pub import PmwPub
from equipoise.algorithms.rap import Rap
from equipoise.algorithms.rap_softmax import RapSoftmax
from equipoise.algorithms.sep_fem import SepFem
from equipoise.errors import SettingError

__all__ = ["ALGORITHMS", "Algorithm", "Forecast", "Plan", "Players", "Setting", "create"]

ALGORITHMS: tuple[type[Any], ...] = (
    Auto,
    Mixture,
    Pep,
    Mwem,
    Gem,
    Rap,
    RapSoftmax,
    Hdmm,
    MixturePub,
    PmwPub,
    PepPub,
    GemPub,
    DualQuery,
    Dqrs,
    Fem,
    SepFem,
    OracleQuery,
)
"""Every algorithm, in the order in which `equipoise methods` shows them."""


def create(name: str, options: Mapping[str, Any] | None = None) -> Algorithm:
    """An algorithm by its name, with options as values or as text.

    Example:
        >>> create("pep", {"num_rounds": "40"}).num_rounds
        40

    Raises:
        SettingError: there is no such algorithm or option, or a value does not fit.
    """
    classes = {cls.name: cls for cls in ALGORITHMS}
    if name not in classes:
        raise SettingError(f"there is no method {name!r}; the methods are {', '.join(classes)}")
    known = [field.name for field in fields(classes[name])]
    for option in options or {}:
        if option not in known:
            raise SettingError(f"{name} has no option {option!r}; its options are {', '.join(known)}")
    try:
        algorithm: Algorithm = TypeAdapter(classes[name]).validate_python(dict(options or {}))
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingError(f"{name}: option {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    _require_unset(algorithm, options or {})
    return algorithm


def _require_unset(algorithm: Any, given: Iterable[str]) -> None:
    """An option that the mode sets (`set_by_mode`) may not be given beside it: it would do nothing, unseen."""
    mode = getattr(algorithm, "mode", None)
    clashing = [option for option in given if option in getattr(algorithm, "set_by_mode", {}).get(mode, "").split()]
    if clashing:
        raise SettingError(
            f'{algorithm.name}: mode="{mode}" sets {", ".join(clashing)} itself; leave'
            f" {'it' if len(clashing) == 1 else 'them'} out, or the mode"
        )
