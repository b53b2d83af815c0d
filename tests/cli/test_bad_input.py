"""Bad input: each refused with the column and the rule, nothing spent, no private value said."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.budget import find_account

Bench = Any

STEP = "equipoise.data_players.multiplicative_weights.MultiplicativeWeights.step"

CANARY = "Zanzibar"
NUMBER_CANARY = "7351946"


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def spend_nothing(bench: Bench) -> bool:
    account = find_account(bench.ledger, "people")
    return account is None or account.runs() == []


def replace_cell(bench: Bench, line: str) -> None:
    good = bench.table.read_text().splitlines()[1:]
    bench.write_rows([*good[:100], line, *good[100:]])


def missing_column(bench: Bench) -> None:
    bench.write_rows([f"Female,30,{CANARY}"], header="sex,age,score")


def unknown_category(bench: Bench) -> None:
    replace_cell(bench, f"Male,30,1.0,{CANARY}")


def out_of_bounds(bench: Bench) -> None:
    replace_cell(bench, f"Male,{NUMBER_CANARY},1.0,North")


def not_a_number(bench: Bench) -> None:
    replace_cell(bench, f"Male,{CANARY},1.0,North")


def not_finite(bench: Bench) -> None:
    replace_cell(bench, "Male,30,inf,North")


def missing_value(bench: Bench) -> None:
    replace_cell(bench, "Male,,1.0,North")


def empty_table(bench: Bench) -> None:
    bench.write_rows([])


def duplicate_names(bench: Bench) -> None:
    bench.write_rows([f"Male,30,1.0,North,{CANARY}"], header="sex,age,score,region,sex")


def wrong_encoding(bench: Bench) -> None:
    bench.table.write_bytes(bench.table.read_bytes() + f"Male,30,1.0,{CANARY}é\n".encode("latin-1"))


def ragged_row(bench: Bench) -> None:
    replace_cell(bench, f"Male,30,1.0,North,{CANARY}")


def no_table(bench: Bench) -> None:
    bench.table.unlink()


def empty_file(bench: Bench) -> None:
    bench.table.write_bytes(b"")


def semicolons(bench: Bench) -> None:
    bench.table.write_text(bench.table.read_text().replace(",", ";"))


def tabs_and_no_names(bench: Bench) -> None:
    bench.table.write_text(f"Male\t30\t1.0\t{CANARY}\n" * 5)


def spaces_in_names(bench: Bench) -> None:
    bench.write_rows([f"Male,30,1.0,{CANARY}"], header="sex, Age,score,region")


def one_row(bench: Bench) -> None:
    bench.write_rows(["Male,30,1.0,North"])


BAD_TABLES: list[tuple[Callable[[Bench], None], tuple[str, ...]]] = [
    (missing_column, ("'region'", "no such column")),
    (unknown_category, ("'region'", "other")),
    (out_of_bounds, ("'age'", "out_of_bounds")),
    (not_a_number, ("'age'",)),
    (not_finite, ("'score'", "finite")),
    (missing_value, ("'age'", "nullable")),
    (empty_table, ("no rows",)),
    (duplicate_names, ("'sex'", "rename")),
    (wrong_encoding, ("people.csv", "UTF-8")),
    (ragged_row, ("people.csv", "fields")),
    (no_table, ("people.csv", "no file")),
    (empty_file, ("people.csv is empty",)),
    (semicolons, ("'sex'", "';'", "commas between fields")),
    (tabs_and_no_names, ("'sex'", "tabs", "commas between fields")),
    (spaces_in_names, ("'age'", "capitals or spaces only")),
    (one_row, ("one row",)),
]


@pytest.mark.parametrize(("spoil", "words"), BAD_TABLES, ids=lambda item: getattr(item, "__name__", None))
def test_bad_table(bench: Bench, spoil: Callable[[Bench], None], words: tuple[str, ...]) -> None:
    spoil(bench)
    result = bench.release("--columns", "sex,age,score,region")
    assert result.exit_code == 4
    assert "error:" in result.stderr
    assert "Traceback" not in result.text
    for word in words:
        assert word in result.text
    assert CANARY not in result.text
    assert NUMBER_CANARY not in result.text
    assert spend_nothing(bench)


def test_truncated_parquet(bench: Bench) -> None:
    file = bench.folder / "people.parquet"
    pq.write_table(pa.table({"sex": [CANARY] * 5000}), file)
    file.write_bytes(file.read_bytes()[:-200])
    arguments = ("--schema", bench.schema, "--epsilon", 1, "-o", bench.out)
    result = bench.run("release", file, *arguments)
    assert result.exit_code == 4
    assert "people.parquet" in result.text
    assert CANARY not in result.text
    assert spend_nothing(bench)


BAD_SETTINGS: list[tuple[tuple[object, ...], int, str]] = [
    (("--epsilon", 0), 2, "epsilon must be a positive number"),
    (("--epsilon", -1), 2, "epsilon must be a positive number"),
    (("--epsilon", "nan"), 2, "epsilon must be a positive number"),
    (("--epsilon", "inf"), 2, "epsilon must be a positive number"),
    (("--delta", 0), 2, "delta must be above 0 and below 1/n"),
    (("--delta", -0.1), 2, "delta must be above 0 and below 1/n"),
    (("--delta", 1), 2, "delta must be above 0 and below 1/n"),
    (("--delta", "nan"), 2, "delta must be above 0 and below 1/n"),
    (("--delta", 1 / 200), 2, "delta must be above 0 and below 1/n"),
    (("--rows", 0), 2, "rows"),
    (("--method", "nosuch"), 2, "the methods are"),
    (("--option", "nosuch=1"), 2, "its options are"),
    (("--option", "num_rounds=many"), 2, "num_rounds"),
    (("--option", "num_rounds"), 2, "NAME=VALUE"),
    (("--columns", "sex,height"), 2, "'height'"),
    (("--columns", "sex,sex"), 2, "only once"),
    (("--memory", "much"), 2, "512MB"),
    (("--memory", "1kB"), 7, "--columns"),
    (("--workload", "9-way"), 5, "9-way"),
    (("--workload", "everything"), 5, "everything"),
    (("--workload", "nosuch.json"), 5, "nosuch.json"),
    (("--threads", 0), 2, "threads"),
    (("--ledger", "nosuch-folder/ledger.sqlite"), 8, "nosuch-folder"),
]


@pytest.mark.parametrize(("arguments", "exit_code", "words"), BAD_SETTINGS, ids=lambda item: str(item))
def test_bad_setting(bench: Bench, arguments: tuple[object, ...], exit_code: int, words: str) -> None:
    result = bench.release(*arguments)
    assert words in result.text
    assert result.exit_code == exit_code
    assert "Traceback" not in result.text
    assert spend_nothing(bench)
    assert not (bench.out / "statement.json").exists()


def test_json_errors_are_one_object(bench: Bench) -> None:
    result = bench.release("--json", epsilon=0)
    assert result.json["error"]["kind"] == "SettingError"
    assert result.json["error"]["exit_code"] == result.exit_code == 2


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("mixture", "num_components=0"),
        ("mixture", "num_sweeps=0"),
        ("hdmm", "num_components=-1"),
        ("gem", "num_products=0"),
        ("gem", "learning_rate=0"),
        ("gem", "max_steps=0"),
        ("gem", "weight_memory=1"),
        ("gem", "selection_share=0"),
        ("rap", "num_rounds=0"),
        ("rap", "num_relaxed=0"),
        ("rap_softmax", "num_selected=0"),
        ("rap_softmax", "learning_rate=-1"),
        ("rap_softmax", "max_steps=0"),
    ],
)
def test_an_option_that_no_player_takes_is_refused_before_anything_is_paid(
    bench: Bench, method: str, option: str
) -> None:
    result = bench.release("--method", method, "--option", option, epsilon=1)
    assert result.exit_code == 2
    assert option.split("=")[0] in result.text
    assert spend_nothing(bench)


def test_neither_schema_nor_domain(bench: Bench) -> None:
    result = bench.run("release", bench.table, "--epsilon", 1, "-o", bench.out)
    assert result.exit_code == 2
    assert "--schema" in result.text


def test_budget_already_spent(bench: Bench) -> None:
    assert bench.release(epsilon=1.2).exit_code == 0
    before = bench.run("ledger", bench.schema, "--json").json
    result = bench.release(epsilon=1.2, out=bench.folder / "second")
    assert result.exit_code == 6
    for word in ("people", "total", "spent", "asked", "left", "Nothing was spent"):
        assert word in result.text
    assert bench.run("ledger", bench.schema, "--json").json == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[columns.sex\n", "TOML"),
        ('[columns.sex]\ntype = "colour"\n', "'sex'"),
        ('[columns.sex]\ntype = "categorical"\nvalues = ["a"]\ncolour = 1\n', "'colour'"),
        ('[columns.sex]\ntype = "categorical"\nvalues = []\n', "`values` should have at least 1 item"),
        ("", "no columns"),
    ],
)
def test_schema_that_does_not_parse(bench: Bench, text: str, words: str) -> None:
    bench.schema.write_text(text)
    result = bench.release()
    assert result.exit_code == 3
    assert words in result.text
    assert spend_nothing(bench)


def test_half_a_total(bench: Bench) -> None:
    bench.schema.write_text(bench.schema.read_text().replace("delta = 1e-06\n", ""))
    result = bench.release()
    assert result.exit_code == 3
    assert "`delta`" in result.text
    assert not bench.ledger.exists()


def test_unconfirmed_schema(bench: Bench) -> None:
    bench.schema.write_text(bench.schema.read_text() + "confirmed = false\n")
    result = bench.release()
    assert result.exit_code == 3
    assert "region" in result.text
    assert "confirmed = true" in result.text
    assert spend_nothing(bench)


def test_output_that_is_a_file(bench: Bench) -> None:
    bench.out.write_text("mine")
    result = bench.release()
    assert result.exit_code == 9
    assert str(bench.out) in result.text.replace(" ", "")
    assert bench.out.read_text() == "mine"
    assert spend_nothing(bench)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_output_that_may_not_be_written(bench: Bench) -> None:
    closed = bench.folder / "closed"
    closed.mkdir(mode=0o500)
    result = bench.release(out=closed / "out")
    assert result.exit_code == 9
    assert spend_nothing(bench)


def test_output_that_already_holds_a_release(bench: Bench) -> None:
    assert bench.release(epsilon=0.5).exit_code == 0
    statement = (bench.out / "statement.json").read_bytes()
    before = bench.run("ledger", bench.schema, "--json").json
    result = bench.release(epsilon=0.5)
    assert result.exit_code == 9
    assert "--overwrite" in result.text
    assert (bench.out / "statement.json").read_bytes() == statement
    assert bench.run("ledger", bench.schema, "--json").json == before


def test_a_refused_replacement_destroys_nothing(bench: Bench) -> None:
    assert bench.release(epsilon=1.2).exit_code == 0
    files = {path.name: path.read_bytes() for path in bench.out.iterdir() if not path.name.startswith(".")}
    assert bench.release("--overwrite", epsilon=1.2).exit_code == 6
    unknown_category(bench)
    assert bench.release("--overwrite", epsilon=0.1).exit_code == 4
    assert {name: (bench.out / name).read_bytes() for name in files} == files
    assert bench.run("answer", bench.out, "sex = Female").exit_code == 0
    assert bench.release(epsilon=0.1).exit_code == 9


def test_an_interrupted_replacement_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench.release(epsilon=0.5).exit_code == 0
    with monkeypatch.context() as patched:
        patched.setattr(STEP, stop)
        assert bench.release("--overwrite", epsilon=0.3).exit_code == 130
    assert bench.run("answer", bench.out, "sex = Female").exit_code == 0
    assert bench.release("--overwrite", epsilon=0.3).exit_code == 0
    runs = bench.run("ledger", bench.schema, "--json").json["runs"]
    assert sorted((run["epsilon"], run["status"]) for run in runs) == [(0.3, "done"), (0.5, "done")]


def test_unfinished_release_with_other_settings(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(STEP, stop)
        assert bench.release(epsilon=0.5).exit_code == 130
    before = bench.run("ledger", bench.schema, "--json").json
    result = bench.release(epsilon=0.25)
    assert result.exit_code == 9
    assert "epsilon" in result.text
    assert bench.run("ledger", bench.schema, "--json").json == before


def test_a_file_that_is_no_ledger(bench: Bench) -> None:
    bench.ledger.write_text("this is no database, whatever its name says, and it is long enough to be looked at")
    content = bench.ledger.read_bytes()
    result = bench.release()
    assert result.exit_code == 8
    assert bench.ledger.read_bytes() == content


def test_a_folder_without_a_release(bench: Bench) -> None:
    result = bench.run("answer", bench.folder, "sex = Female")
    assert result.exit_code == 9
    assert "no finished release" in result.text


def test_a_damaged_release(released: Bench, tmp_path: Path) -> None:
    for path in released.out.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "model.npz").write_bytes(b"PK")
    result = released.run("answer", tmp_path, "sex = Female")
    assert result.exit_code == 9


def test_evaluate_with_another_table(released: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(f"sex,age\nFemale,{NUMBER_CANARY}\n")
    result = released.run("evaluate", released.out, other, "-o", tmp_path / "internal.html")
    assert result.exit_code == 4
    assert "'region'" in result.text
    assert NUMBER_CANARY not in result.text
