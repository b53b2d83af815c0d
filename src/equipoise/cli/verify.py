"""`equipoise verify`: whether a release is what its statement says, computed again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker, pairs, table_of
from equipoise.errors import LedgerError, OutputError

if TYPE_CHECKING:
    from equipoise.verification.claims import Check
    from equipoise.verification.folder import Verified

__all__ = ["EXAMPLES", "verify"]

PRICE_OF = ("rho of: ", "epsilon of: ")
MOST_PRICES = 10

EXAMPLES = ("equipoise verify out/", "equipoise verify out/ --ledger people.ledger.sqlite")


def verify(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="A release folder.")],
    ledger: Annotated[
        str | None,
        typer.Option(metavar="PATH|URL", help="Compare with what this ledger was charged, too."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a release without trusting the code that made it. It reads the folder only, and costs nothing.

    Derives epsilon and delta again from the statement's events with a second accountant, and the hash of every file.
    Exit code 9 when something does not hold. That the noise was drawn as the events say, no folder can show: see
    [bold]equipoise audit[/bold], and the source. That nothing else was released, only the table's ledger can.
    """
    from equipoise.verification.folder import verify as verified_of

    found = verified_of(folder)
    checks = [*found.checks, *([] if ledger is None else [_charged(found, ledger)])]
    broken = [check.what for check in checks if not check.holds]
    body = {
        "folder": str(folder),
        "statement_sha256": found.digest,
        "holds": not broken,
        "checks": [check._asdict() for check in checks],
        "not_vouched_for": list(found.strangers),
    }
    shown: list[Any] = [
        pairs([("table", str(found.statement["table"])), ("statement", f"sha256 {found.digest}")]),
        table_of(("what", "stated", "found", ""), _rows(checks)),
    ]
    if found.strangers:
        shown.append(f"Not part of the release, so not checked: {', '.join(found.strangers)}.")
    if not broken:
        shown.append(f"All {len(checks):,} checks hold.")
    speaker = Speaker(json=json, quiet=quiet)
    speaker.result(body, shown)
    if not broken and ledger is None:
        speaker.note("This is the folder's word: compare the statement's hash with its maker's, or with --ledger.")
    if broken:
        raise OutputError(f"{folder} is not what its statement says: {'; '.join(broken)}. Do not rely on it.")


def _rows(checks: Sequence[Check]) -> list[tuple[str, str, str, str]]:
    """A line a check; the prices of single events that hold, of which there may be hundreds, are one line together."""
    prices = [check for check in checks if check.holds and check.what.startswith(PRICE_OF)]
    folded = prices if len(prices) > MOST_PRICES else []
    rows = [
        (check.what, check.claimed, check.found, "holds" if check.holds else "BROKEN")
        for check in checks
        if check not in folded
    ]
    if folded:
        rows.append((f"{len(folded):,} prices of single events (each in --json)", "as stated", "the same", "holds"))
    return rows


def _charged(found: Verified, location: str) -> Check:
    """The events of the statement against those that the ledger was charged for the same run."""
    from collections import Counter

    from equipoise.privacy.ledger import Ledger
    from equipoise.privacy.run import canonical
    from equipoise.privacy.stored_events import to_json
    from equipoise.verification.claims import Check

    if "://" not in location and not Path(location).is_file():
        raise LedgerError(f"there is no ledger at {location}")
    account = Ledger(location).existing(found.statement["table"])
    run = None if account is None else account.run(found.statement["ledger_run"])
    if run is None:
        return Check("ledger", "charged", "no such release", False)
    stated: Counter[str] = Counter()
    for item in found.statement["events"]:
        stated[canonical(item["event"])] += item["times"]
    charged = Counter(canonical(to_json(event)) for event in run.events())
    return Check("ledger", f"{stated.total()} events", f"{charged.total()} events", stated == charged)
