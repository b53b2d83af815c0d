from __future__ import annotations

collect_ignore = ["coverage_guided.py"]  # a program, which instruments what it imports; `make fuzz` runs it
