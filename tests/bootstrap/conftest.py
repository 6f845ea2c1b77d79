"""Labs for the composition."""

from tests.execution.conftest import house, lab, settings, template

__all__ = ["house", "lab", "settings", "template"]
