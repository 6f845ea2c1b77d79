"""Deferred tools: not shown initially, found by search, then shown for the rest of a run."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from math import log

from app.catalog.catalog import Catalog
from app.governance.agents import SubagentScope
from app.resolver.resolver import Resolver
from app.toolkit.ports import FoundTool
from app.toolkit.tool import Tool

MAX_RUNS = 2000
SELECT = "select:"
_WORD = re.compile(r"[a-z0-9]+")
_NAME, _TAG, _TEXT = 4.0, 2.0, 1.0


class DeferredTools:
    """`ToolFinder` that finds only tools of the caller's resolved set."""

    def __init__(self, catalog: Callable[[], Catalog], resolver: Resolver) -> None:
        self._catalog = catalog
        self._resolver = resolver
        self._found: OrderedDict[str, dict[str, None]] = OrderedDict()
        self._scopes: dict[str, SubagentScope] = {}

    def narrow(self, run_id: str, scope: SubagentScope) -> None:
        """Restrict the run to the tools of a sub-agent, until `forget`."""
        self._scopes[run_id] = scope

    def find(
        self,
        query: str,
        *,
        agent_id: str | None,
        run_id: str | None,
        limit: int,
        shown: bool = False,
    ) -> list[FoundTool]:
        """Return matching tools, most relevant first; the run can see them from now on."""
        scope = None if run_id is None else self._scopes.get(run_id)
        exposure = self._resolver.resolve(agent_id, subagent=scope).exposure
        tools = self._catalog().tools
        # A tool that is already shown is still a match.
        named = query.startswith(SELECT)
        known = (*exposure.visible, *exposure.deferred) if shown or named else exposure.deferred
        # The catalog may have lost a tool between two reads.
        candidates = [tools[name] for name in known if name in tools]
        names = _selected(query, candidates) if named else _ranked(query, candidates)
        found = names[:limit]
        self.reveal(run_id, (name for name in found if name in exposure.deferred))
        return [
            FoundTool(exposure.definitions[name]["name"], _summary(tools[name])) for name in found
        ]

    def reveal(self, run_id: str | None, names: Iterable[str]) -> None:
        """Show tools to a run from its next turn."""
        if run_id is None:
            return
        shown = self._found.setdefault(run_id, {})
        shown.update(dict.fromkeys(names))
        self._found.move_to_end(run_id)
        while len(self._found) > MAX_RUNS:
            self._found.popitem(last=False)

    def shown_to(self, run_id: str) -> tuple[str, ...]:
        """Return the tools found by the run, in order: the tools of a request are only added."""
        return tuple(self._found.get(run_id, ()))

    def forget(self, run_id: str) -> None:
        """Discard the state of a finished run."""
        self._found.pop(run_id, None)
        self._scopes.pop(run_id, None)


def _selected(query: str, tools: list[Tool]) -> list[str]:
    """Return tools named exactly, by name or alias."""
    known = {
        name: tool.name
        for tool in tools
        for name in (tool.name, *(alias.name for alias in tool.aliases))
    }
    wanted = [name.strip() for name in query.removeprefix(SELECT).split(",")]
    return list(dict.fromkeys(known[name] for name in wanted if name in known))


def _ranked(query: str, tools: list[Tool]) -> list[str]:
    """Return names ranked by matches in name, tags and description; rare words weigh more."""
    words = _words(query)
    documents = {tool.name: _weights(tool) for tool in tools}
    spread = Counter(word for weights in documents.values() for word in weights)
    scores = {
        name: sum(
            _match(word, weights) * log(1 + len(tools) / (1 + spread.get(word, 0)))
            for word in words
        )
        for name, weights in documents.items()
    }
    hits = [name for name, score in scores.items() if score > 0]
    return sorted(hits, key=lambda name: -scores[name])


def _match(word: str, weights: dict[str, float]) -> float:
    """Return the weight of a query word in a tool; a prefix counts half."""
    exact = weights.get(word)
    if exact is not None:
        return exact
    if len(word) < 4:
        return 0
    near = [w for other, w in weights.items() if other.startswith(word) or word.startswith(other)]
    return max(near, default=0) / 2


def _weights(tool: Tool) -> dict[str, float]:
    """Return word → the highest weight of its positions."""
    names = " ".join((tool.name, *(alias.name for alias in tool.aliases)))
    places = (
        (f"{tool.description} {tool.category} {tool.toolset}", _TEXT),
        (" ".join(tool.tags), _TAG),
        (names, _NAME),
    )
    return {word: weight for text, weight in places for word in _words(text)}


def _words(text: str) -> list[str]:
    # `readFile` is two words, like `read_file`.
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [word for word in _WORD.findall(split.lower()) if len(word) > 1]


def _summary(tool: Tool) -> str:
    """Return the first paragraph of the tool's description."""
    return " ".join(tool.description.split("\n\n", 1)[0].split())[:300]
