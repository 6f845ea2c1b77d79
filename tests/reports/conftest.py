"""A gate with the built-in tools, as the tests of calls have it."""

from tests.execution.conftest import house, settings, template

__all__ = ["house", "settings", "template"]
