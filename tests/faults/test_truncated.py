"""Files cut short behind our back: the ledger, a move in it, and the moves of a release folder."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.faults.stage import Stage
from tests.faults.test_disk_full import NUM_ROUNDS, QUIETLY, require_told
from tests.faults.toy import Toy, middle


def half_done(stage: Stage, folder: Path) -> Toy:
    toy = Toy(folder, NUM_ROUNDS).write()
    require_told(stage.run(*toy.words("out", *QUIETLY), file_bytes=middle(folder)), 8)
    assert 0 < len(toy.moves()) < NUM_ROUNDS
    return toy


def test_a_ledger_cut_short_is_refused_and_a_copy_put_back_charges_for_the_rest(
    stage: Stage, quick_folder: Path
) -> None:
    toy = half_done(stage, quick_folder)
    ledger, copy, schema = Path(toy.ledger), quick_folder / "copy.sqlite", quick_folder / "toy.toml"
    assert stage.run("ledger", "backup", schema, copy, "--quiet").code == 0
    account = toy.account()
    assert account is not None
    held, whole = account.held(), ledger.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9):
        ledger.write_bytes(whole[: int(share * len(whole))])
        for ending in ("-wal", "-shm"):
            Path(f"{ledger}{ending}").unlink(missing_ok=True)
        require_told(stage.run(*toy.words("out", *QUIETLY)), 8)
        require_told(stage.run("ledger", "verify", schema), 8)
    assert stage.run("ledger", "restore", schema, copy, "--quiet").code == 0
    again = toy.account()
    assert again is not None
    assert again.held().rho == held.rho  # the release is written off with all that it had reserved
    assert [row["status"] for row in again.runs()] == ["closed"]
    require_told(stage.run(*toy.words("out", *QUIETLY)), 8)  # and its folder cannot be taken up again
    assert stage.run(*toy.words("out2", *QUIETLY)).code == 0


def test_a_move_cut_short_is_told_and_nothing_is_drawn_again(stage: Stage, quick_folder: Path) -> None:
    toy = half_done(stage, quick_folder)
    ledger, spare = Path(toy.ledger), quick_folder / "spare.sqlite"
    before = toy.moves()
    shutil.copy(ledger, spare)
    for length in (0, 100, 250):
        with closing(sqlite3.connect(ledger)) as connection, connection:
            connection.execute("UPDATE moves SET body = substr(body, 1, ?) WHERE number = 0", (length,))
        require_told(stage.run(*toy.words("out", *QUIETLY)), 8)
        require_told(stage.run("ledger", "verify", quick_folder / "toy.toml"), 8)
        with closing(sqlite3.connect(spare)) as whole, closing(sqlite3.connect(ledger)) as connection, connection:
            (body,) = whole.execute("SELECT body FROM moves WHERE number = 0").fetchone()
            connection.execute("UPDATE moves SET body = ? WHERE number = 0", (body,))
    assert stage.run(*toy.words("out", *QUIETLY)).code == 0
    toy.require_exact(before)


def test_the_moves_of_a_release_cut_short(stage: Stage, quick_folder: Path) -> None:
    toy = Toy(quick_folder, NUM_ROUNDS).write()
    assert stage.run(*toy.words("out", *QUIETLY)).code == 0
    moves = quick_folder / "out" / "moves.parquet"
    moves.write_bytes(moves.read_bytes()[:-200])
    require_told(stage.run("answer", quick_folder / "out", "a = 1"), 9)
    assert "moves.parquet" in stage.run("verify", quick_folder / "out").said
    assert stage.run("verify", quick_folder / "out").code != 0
    # The ledger has them, too: without its statement the folder is written again, and nothing is paid for.
    (quick_folder / "out" / "statement.json").unlink()
    assert stage.run(*toy.words("out", *QUIETLY)).code == 0
    assert stage.run("verify", quick_folder / "out", "--quiet").code == 0
    toy.require_exact([])
