"""A migrated database to copy, and settings on it."""

from tests.execution.conftest import settings, template

__all__ = ["settings", "template"]
