"""The software bill of materials: CycloneDX 1.6, as JSON, of what users of Equipoise and its extras install.

`python -m supply.parts FILE` writes it from the installed environment. The same environment gives the same bytes.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from datetime import UTC, datetime
from importlib.metadata import distribution, metadata
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.utils import canonicalize_name

from supply.dependencies import FOR_USERS, PROJECT, Package, packages

__all__ = ["bill"]


def bill(found: list[Package], *, seconds: int | None = None) -> dict[str, Any]:
    """The bill of these packages, those that only developers install left out.

    Args:
        found: Packages (`dependencies.packages`).
        seconds: Since 1970: when it was made.
    """
    ours = metadata(PROJECT)
    parts = [package for package in found if package.extras & (FOR_USERS | {""})]
    names = {canonicalize_name(package.name) for package in parts}
    version = distribution(PROJECT).version
    own = {
        "type": "application",
        "bom-ref": _reference(PROJECT, version),
        "name": PROJECT,
        "version": version,
        "description": ours["Summary"],
        "licenses": _licences(ours["License-Expression"]),
        "purl": _reference(PROJECT, version),
    }
    references = {canonicalize_name(part.name): _reference(part.name, part.version) for part in parts}
    direct = sorted(references[name] for name in names if _is_direct(name))
    body: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": "",
        "version": 1,
        "metadata": {"component": own},
        "components": [_component(part) for part in parts],
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": direct},
            *(
                {
                    "ref": _reference(part.name, part.version),
                    "dependsOn": sorted(references[n] for n in part.needs & names),
                }
                for part in parts
            ),
        ],
    }
    if seconds is not None:
        body["metadata"]["timestamp"] = datetime.fromtimestamp(seconds, UTC).isoformat()
    # Named after what it says, so that two bills of the same parts are the same file.
    body["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True)).urn
    return body


def _is_direct(name: str) -> bool:
    from supply.dependencies import required

    return any(name == need for need, _ in required(PROJECT, FOR_USERS))


def _component(part: Package) -> dict[str, Any]:
    reference = _reference(part.name, part.version)
    body = {
        "type": "library",
        "bom-ref": reference,
        "name": part.name,
        "version": part.version,
        "scope": "required" if "" in part.extras else "optional",
        "purl": reference,
    }
    return body | ({"licenses": _licences(part.licence)} if part.licence else {})


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def _licences(text: str) -> list[dict[str, Any]]:
    """A licence as an SPDX expression where it is one, else by its name."""
    try:
        return [{"expression": str(canonicalize_license_expression(text))}]
    except InvalidLicenseExpression:
        return [{"license": {"name": text}}]


def main() -> None:
    """The command."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    body = bill(packages(), seconds=None if epoch is None else int(epoch))
    Path(sys.argv[1]).write_text(json.dumps(body, indent=2) + "\n")
    print(f"{sys.argv[1]}: {len(body['components'])} parts")


if __name__ == "__main__":
    main()
