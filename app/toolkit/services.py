"""Long-lived services by name: the seeds' service locator, with clean errors.

Each installation has its own `Services`. What a plugin registers is the whole process's,
stands behind them, and replaces none of theirs.
"""

from __future__ import annotations

from typing import Any, TypeVar

from app.core.errors import InvalidInput, ToolFailed

T = TypeVar("T")

_of_plugins: dict[str, Any] = {}


class Services:
    """A name → object map bound once in the composition root."""

    def __init__(self, **services: Any) -> None:
        self._services: dict[str, Any] = dict(services)

    def register(self, name: str, service: Any) -> None:
        self._services[name] = service

    def get(self, name: str) -> Any | None:
        """The service, or None where nothing is registered under `name`."""
        found = self._services.get(name)
        return _of_plugins.get(name) if found is None else found

    def require(self, name: str, kind: type[T]) -> T:
        """The service as `kind`.

        Raises:
            ToolFailed: nothing of that kind is registered; the message names the service.
        """
        service = self.get(name)
        if not isinstance(service, kind):
            label = name.replace("_", " ").replace("llm", "LLM")
            raise ToolFailed(f"{label} not available", service=name)
        return service


def register_for_plugins(name: str, service: Any) -> None:
    """Offer what a plugin brings to every tool of the process; the last of a name counts.

    Raises:
        InvalidInput: the name is no text, or there is no service.
    """
    if not isinstance(name, str) or not name.strip() or service is None:
        raise InvalidInput(f"a service requires a name and an object, got {name!r}", field="name")
    _of_plugins[name] = service


def withdraw_for_plugins(name: str, service: Any) -> None:
    """Take back what `register_for_plugins` offered, unless another took its place."""
    if _of_plugins.get(name) is service:
        del _of_plugins[name]


def shared_service(name: str) -> Any | None:
    """Return a service that a plugin registered, outside any call."""
    return _of_plugins.get(name)
