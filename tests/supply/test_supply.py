"""Pins, licences, the bill of materials and signed packages; each check refuses what it is there to refuse."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from pip_audit._service.pypi import PyPIService

from supply import dependencies, dist, parts, vulnerabilities


def test_every_dependency_is_pinned_installed_as_pinned_and_permitted() -> None:
    found = dependencies.packages()
    assert {"opendp", "numpy", "SQLAlchemy", "psycopg", "ruff"} <= {package.name for package in found}
    assert dependencies.check(found, dependencies.pins()) == []


def test_what_is_not_is_told() -> None:
    pins = dependencies.pins()
    (numpy,) = (package for package in dependencies.packages() if package.name == "numpy")
    for changed, word in (
        (replace(numpy, name="nonesuch"), "not pinned"),
        (replace(numpy, version="0.1"), "installed as 0.1"),
        (replace(numpy, licence="AGPL-3.0-only"), "AGPL-3.0-only"),
        (replace(numpy, licence=""), "none named"),
    ):
        (line,) = dependencies.check([changed], pins)
        assert word in line


@pytest.mark.parametrize(
    "line", ["numpy>=2", "numpy", "--index-url https://elsewhere.example", "a @ https://b.example/a"]
)
def test_constraints_pin_versions_and_name_no_place(line: str, tmp_path: Path) -> None:
    (tmp_path / "constraints.txt").write_text(f"scipy==1.17.1\n{line}\n")
    with pytest.raises(ValueError, match="name==version"):
        dependencies.pins(tmp_path / "constraints.txt")


def answer(*items: dict[str, Any]) -> str:
    return json.dumps({"dependencies": list(items)})


def test_an_audit_that_looked_nothing_up_is_no_pass() -> None:
    skipped, sound = {"name": "a", "skip_reason": "not found"}, {"name": "b", "version": "1", "vulns": []}
    weak = {"name": "c", "version": "2", "vulns": [{"id": "CVE-1"}]}
    assert vulnerabilities.verdict(answer(skipped), "") == (
        ["vulnerabilities: skipped: none of 1 packages could be looked up; is there a network?"],
        False,
    )
    assert vulnerabilities.verdict("", "no route to host")[0] == [
        "vulnerabilities: skipped: pip-audit gave no answer (no route to host)"
    ]
    lines, known = vulnerabilities.verdict(answer(skipped, sound), "")
    assert lines == [
        "vulnerabilities: 0 of 1 packages have known ones",
        "vulnerabilities: skipped, could not be looked up: a",
    ]
    assert not known
    lines, known = vulnerabilities.verdict(answer(sound, weak), "")
    assert lines[0] == "vulnerabilities: c 2: CVE-1"
    assert known


class Pages:
    """A mirror that has a page of the newest version alone."""

    def __init__(self, version: str, weaknesses: list[str]) -> None:
        self.version, self.weaknesses, self.asked = version, weaknesses, ""

    def get(self, url: str, timeout: int | None) -> requests.Response:
        self.asked, page = url, requests.Response()
        page.status_code = 200
        listed = [{"id": name, "aliases": [], "fixed_in": ["9"], "summary": "s"} for name in self.weaknesses]
        page._content = json.dumps({"info": {"version": self.version}, "vulnerabilities": listed}).encode()
        return page


def test_where_a_mirror_has_the_newest_version_only_it_speaks_for_no_other() -> None:
    def look(version: str, pages: Pages) -> list[str] | None:
        service = PyPIService(timeout=1)
        service.session = pages
        found = vulnerabilities.newest("thing", version, service)
        assert pages.asked.endswith("/thing/json")
        return found

    assert look("2.0", Pages("2.0", ["CVE-1", "CVE-2"])) == ["CVE-1", "CVE-2"]
    assert look("2.0", Pages("2.0", [])) == []
    assert look("2.0", Pages("2.1", [])) is None


def test_what_was_skipped_is_asked_again_until_the_network_fails() -> None:
    skipped = [{"name": name, "skip_reason": "not found"} for name in ("A_a", "b", "c", "d")]
    asked = []

    def look(name: str, version: str) -> list[str] | None:
        asked.append((name, version))
        if name == "c":
            raise requests.ConnectionError
        return ["CVE-1"] if name == "b" else None

    versions = {"a-a": "1", "b": "2", "c": "3", "d": "4"}
    lines, known = vulnerabilities.verdict(vulnerabilities.complete(answer(*skipped), versions, look), "")
    assert asked == [("A_a", "1"), ("b", "2"), ("c", "3")]
    assert lines[0] == "vulnerabilities: b 2: CVE-1"
    assert lines[-1] == "vulnerabilities: skipped, could not be looked up: A_a, c, d"
    assert known
    assert vulnerabilities.complete("nonsense", versions, look) == "nonsense"


def test_the_bill_of_materials_has_the_standards_form_and_names_every_part_of_what_users_install() -> None:
    found = dependencies.packages()
    bill = parts.bill(found, seconds=1_700_000_000)
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(bill)) is None
    assert validator.validate_str(json.dumps(bill | {"components": [{"name": "no type"}]})) is not None
    assert parts.bill(found, seconds=1_700_000_000) == bill
    scopes = {part["name"]: part["scope"] for part in bill["components"]}
    assert (scopes["opendp"], scopes["psycopg"], scopes["psycopg-binary"]) == ("required", "optional", "optional")
    assert not {"ruff", "pytest", "mkdocs"} & set(scopes)
    references = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    for entry in bill["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= references


def test_packages_are_the_same_bytes_wherever_they_are_built_and_a_changed_one_is_found_out(tmp_path: Path) -> None:
    first, second = dist.build(tmp_path / "one"), dist.build(tmp_path / "two")
    assert [path.suffix for path in first] == [".whl", ".gz", ""]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert dist.build(tmp_path / "two") == second
    words = ["sha256sum", "--check", "--strict", dist.SUMS]
    assert subprocess.run(words, cwd=tmp_path / "one", capture_output=True, check=False).returncode == 0
    first[0].write_bytes(first[0].read_bytes() + b"more")
    assert subprocess.run(words, cwd=tmp_path / "one", capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not on this machine")
def test_checksums_are_signed_and_only_the_maintainers_key_will_do(tmp_path: Path) -> None:
    """As SECURITY.md has it, with keys made for the test."""
    sums = tmp_path / dist.SUMS
    sums.write_text("0" * 64 + "  equipoise-0.1.0.tar.gz\n")
    for name in ("ours", "theirs"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    public = (tmp_path / "ours.pub").read_text().split()
    (tmp_path / "signers").write_text(f"maintainers {public[0]} {public[1]}\n")

    def sign(key: str) -> None:
        sums.with_suffix(".sig").unlink(missing_ok=True)
        words = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(tmp_path / key), "-n", "equipoise", str(sums)]
        subprocess.run(words, check=True, capture_output=True)

    def holds() -> bool:
        words = ["-f", str(tmp_path / "signers"), "-I", "maintainers", "-n", "equipoise", "-s", f"{sums}.sig"]
        done = subprocess.run(
            ["ssh-keygen", "-Y", "verify", *words], input=sums.read_bytes(), capture_output=True, check=False
        )
        return done.returncode == 0

    sign("ours")
    assert holds()
    whole = sums.read_bytes()
    sums.write_bytes(whole.replace(b"0", b"1", 1))
    assert not holds()
    sums.write_bytes(whole)
    sign("theirs")
    assert not holds()
