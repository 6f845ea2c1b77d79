"""Long-lived services by name: the seeds' service locator, with clean errors."""

from __future__ import annotations

from typing import Any, TypeVar

from app.core.errors import ToolFailed

T = TypeVar("T")


class Services:
    """A name → object map bound once in the composition root."""

    def __init__(self, **services: Any) -> None:
        self._services: dict[str, Any] = dict(services)

    def register(self, name: str, service: Any) -> None:
        self._services[name] = service

    def get(self, name: str) -> Any | None:
        """The service, or None where nothing is registered under `name`."""
        return self._services.get(name)

    def require(self, name: str, kind: type[T]) -> T:
        """The service as `kind`.

        Raises:
            ToolFailed: nothing of that kind is registered; the message names the service.
        """
        service = self._services.get(name)
        if not isinstance(service, kind):
            label = name.replace("_", " ").replace("llm", "LLM")
            raise ToolFailed(f"{label} not available", service=name)
        return service
