"""The query service: a steward's tables, analysts who ask about them, releases made in workers, and a web console.

Needs the extra: `pip install 'equipoise[service]'`. `SECURITY.md` has the threat model.
"""
