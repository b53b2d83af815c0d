"""`equipoise cite`: BibTeX of a method, of a release folder, and what else is refused."""

import json
from typing import get_args

import pytest
from typer.testing import CliRunner

from equipoise.analysts.plan import Mode
from equipoise.analysts.round_plan import RoundMode
from equipoise.cli import app
from equipoise.cli.cite import OTHERS
from equipoise.errors import OutputError, SettingError
from equipoise.privacy.learner import MECHANISMS
from equipoise.report.references import bibliography


def cite(*names):
    return CliRunner().invoke(app, ["cite", *names])


def test_a_method_has_its_papers():
    shown = cite("mwem", "pep").output
    assert shown.count("@inproceedings{liu2021iterative,") == 1  # cited by both, printed once
    assert "@inproceedings{hardt2012simple," in shown


def test_what_learns_and_what_answers_analysts_has_its_papers_too():
    names = {*MECHANISMS, *get_args(Mode), *get_args(RoundMode)}
    assert set(OTHERS) == names
    for name in names:
        assert cite(name).output.count("{") > 1
    assert "@inproceedings{neel2019heuristics," in cite("rspm").output
    assert "@inproceedings{hsu2013differential," in cite("online").output


def test_a_release_has_its_methods_papers_and_its_mechanisms(tmp_path):
    events = [{"event": {"kind": "gaussian"}}, {"event": {"kind": "exponential"}}]
    (tmp_path / "statement.json").write_text(json.dumps({"citations": ["liu2021iterative"], "events": events}))
    body = json.loads(CliRunner().invoke(app, ["cite", str(tmp_path), "--json"]).output)
    assert list(body["citations"]) == ["liu2021iterative", "canonne2020discrete", "mcsherry2007mechanism"]
    assert all(entry == bibliography()[key] for key, entry in body["citations"].items())


def test_a_unit_of_several_rows_hides_no_mechanism(tmp_path):
    event = {"kind": "group", "event": {"kind": "gaussian"}, "num_records": 3}
    (tmp_path / "statement.json").write_text(json.dumps({"citations": [], "events": [{"event": event}]}))
    assert "canonne2020discrete" in cite(str(tmp_path)).output


@pytest.mark.parametrize("text", ["{", "{}", '{"citations": [], "events": 3}'])
def test_a_broken_statement_is_named(tmp_path, text):
    (tmp_path / "statement.json").write_text(text)
    assert cite(str(tmp_path)).exit_code == OutputError.exit_code


def test_what_is_neither_is_refused_with_the_methods():
    found = cite("pepp")
    assert found.exit_code == SettingError.exit_code
    assert "pep, " in found.output
