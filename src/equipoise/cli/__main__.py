"""`python -m equipoise.cli`."""

from equipoise.cli import main

main()
