"""`equipoise audit`: claimed against measured privacy, for every algorithm or for one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker, table_of
from equipoise.errors import EquipoiseError, SettingError

if TYPE_CHECKING:
    from equipoise.audit.table import Audit

__all__ = ["EXAMPLES", "audit"]

EXAMPLES = (
    "equipoise audit",
    "equipoise audit --only mwem --runs 20000",
    "equipoise audit --algorithm mypackage.mymodule:MyAlgorithm",
)


def audit(
    algorithm: Annotated[
        str | None, typer.Option(metavar="MODULE:CLASS", help="Your own algorithm, written to the player protocols.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="METHOD", help="Only these methods; may be repeated.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=0, help="Runs on each table for the audit by sampling; 0: enumeration only.")
    ] = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit algorithms on a toy table and its neighbour: each move's law is enumerated, or sampled, against its charge.

    Each audit is repeated with half of the noise, a negative control that must be found out. No private table is
    read. Exit code 1 when a charge does not hold, or a control was not found out.
    """
    from equipoise.audit.table import audits

    if algorithm is not None and only:
        raise SettingError("--algorithm audits one class; leave out --only")
    speaker, found = Speaker(json=json, quiet=quiet), []
    for each in audits(num_runs=runs, only=tuple(only or ())) if algorithm is None else _own(algorithm, runs):
        found.append(each)
        speaker.note(f"{each.method}: {'holds' if each.holds else 'BROKEN'}")
    if not found:
        raise SettingError("there is no such method; `equipoise methods` lists them")
    titles = ("method", "currency", "moves", "claimed", "measured", "half noise", "found", "")
    shown: list[Any] = [table_of(titles, [_row(each) for each in found], right=(2, 3, 4, 5))]
    if runs:
        columns = ("rho claimed", "at least", "epsilon", "delta", "at least", "half: rho", "epsilon")
        sampled = table_of(("method", "currency", *columns), [_sampled(each) for each in found], right=range(2, 9))
        shown += [f"By {runs:,} runs of the dearest move on each table:", sampled]
    speaker.result({"audits": [each.to_json() for each in found]}, shown)
    broken = [each.method for each in found if not each.holds]
    blind = [each.method for each in found if not each.control_found]
    if broken or blind:
        raise EquipoiseError(
            f"the audit failed: charges that do not hold: {', '.join(broken) or 'none'}; half the noise not found out:"
            f" {', '.join(blind) or 'none'}"
        )


def _own(text: str, runs: int) -> list[Audit]:
    """Audits of a user's class, in the currencies that it has."""
    from equipoise.audit.subject import subject_of
    from equipoise.audit.table import audit as audit_one

    made, found = _load(text)(), []
    for pure in (False, True):
        try:
            subject_of(made, pure=pure)
        except SettingError:
            if not pure:
                raise
            continue
        found.append(audit_one(made, pure=pure, num_runs=runs))
    return found


def _load(text: str) -> Any:
    import importlib
    import sys

    module, _, name = text.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(f"--algorithm: cannot import {text!r} ({error}); write package.module:Class") from error
    finally:
        sys.path.remove("")


def _row(each: Audit) -> tuple[str, ...]:
    body = each.to_json()
    return (
        each.method,
        body["currency"],
        str(body["moves"]),
        f"{body['claimed']:.4f}",
        f"{body['measured']:.4f}",
        f"{body['half_the_noise']:.4f}",
        "yes" if each.control_found else "NO",
        "holds" if each.holds else "BROKEN",
    )


def _sampled(each: Audit) -> tuple[str, ...]:
    found, half = each.sampled, each.sampled_control
    assert found is not None
    assert half is not None
    return (
        each.method,
        "epsilon" if each.pure else "rho",
        f"{found.claimed_rho:.3f}",
        f"{found.found_rho:.3f}",
        f"{found.claimed:.3f}",
        f"{found.delta:g}",
        f"{found.found:.3f}",
        f"{half.found_rho:.3f}",
        f"{half.found:.3f}",
    )
