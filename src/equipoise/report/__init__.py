"""Reports of a release: one for everyone, from its public parts; an internal one that compares it with the truth."""

from equipoise.report.internal import build_internal
from equipoise.report.public import build
from equipoise.report.subject import Subject

__all__ = ["Subject", "build", "build_internal"]
