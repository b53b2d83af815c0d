"""The papers that a release used, as BibTeX: one file for the whole package, keyed as the algorithms cite them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

__all__ = ["bibliography", "entries"]


@cache
def bibliography() -> dict[str, str]:
    """Every entry of references.bib by its key.

    Example:
        >>> bibliography()["hardt2012simple"].splitlines()[0]
        '@inproceedings{hardt2012simple,'
    """
    text = files("equipoise.report").joinpath("references.bib").read_text(encoding="utf-8")
    found = re.findall(r"^(@\w+\{([^,\s]+),.*?^\})", text, flags=re.MULTILINE | re.DOTALL)
    return {key: entry for entry, key in found}


def entries(keys: Iterable[str]) -> list[str]:
    """The entries of these keys, in order; a key without one is named, so that the report can still be written."""
    return [bibliography().get(key, f"% {key}: not in this version's bibliography") for key in dict.fromkeys(keys)]
