"""The lab of the executor's tests."""

from tests.execution.conftest import lab, settings, template

__all__ = ["lab", "settings", "template"]
