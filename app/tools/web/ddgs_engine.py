"""Search with the package `ddgs`, which needs no key and is installed separately."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from app.core.errors import ToolFailed
from app.core.text import clean
from app.tools.web.ports import SearchResult

_TIMEOUT_S = 10
_REGION = "cn-zh"


class DdgsEngine:
    """Engine of the original design. It sends its own requests, to hosts of its own choice."""

    name = "ddgs"

    def __init__(self, region: str | None = None, package: str = "ddgs") -> None:
        self._region = region or _REGION
        self._package = package

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        ddgs = self._import()

        def ask() -> list[dict[str, Any]]:
            engine = ddgs.DDGS(timeout=_TIMEOUT_S)
            return list(engine.text(query, region=self._region, max_results=max_results))

        return await _answered(ask, _failures(ddgs))

    def _import(self) -> Any:
        try:
            return importlib.import_module(self._package)
        except ImportError:
            raise ToolFailed(
                f"web.search_provider is ddgs, but the package {self._package!r} is "
                "not installed: the operator must install it, or set another provider",
                code="not_installed",
            ) from None


def _failures(ddgs: Any) -> tuple[type[Exception], ...]:
    exceptions = importlib.import_module(f"{ddgs.__name__}.exceptions")
    return (exceptions.DDGSException, OSError, ValueError)


async def _answered(
    ask: Callable[[], list[dict[str, Any]]], failures: tuple[type[Exception], ...]
) -> list[SearchResult]:
    try:
        items = await asyncio.to_thread(ask)
    except failures as error:
        if "no results" in str(error).lower():
            return []
        code = "rate_limited" if "ratelimit" in type(error).__name__.lower() else "provider_failed"
        raise ToolFailed(
            f"The search provider ddgs failed: {type(error).__name__}", code=code
        ) from None
    return [
        SearchResult(*(clean(str(item.get(key, "")))[:2000] for key in ("title", "href", "body")))
        for item in items
    ]
