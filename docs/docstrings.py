"""How docstrings are read for the reference: an *Example* is code that runs, as *Examples* are."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """The reader of docstrings knows the plural only, and takes the singular for a remark."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the heading before the docstring is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
