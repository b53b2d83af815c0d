from __future__ import annotations

collect_ignore = ["mutants.py", "__main__.py", "trial.py"]  # programs, which need mutmut; `make mutation` runs them
