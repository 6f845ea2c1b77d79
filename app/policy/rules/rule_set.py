"""Current rules, by tool and program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from app.policy.risk.model import Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.index import RuleIndex
from app.policy.rules.rule import Rule
from app.toolkit.tool import Tool


class ToolRules:
    """Rules about one tool; false if there are none."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.all = tuple(rules)
        self.tightening = any(rule.verdict is not Verdict.ALLOW for rule in self.all)
        self._index = RuleIndex(self.all)

    def __bool__(self) -> bool:
        return bool(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.all)

    def about(self, view: CallView) -> Iterable[Rule]:
        """Return the rules that may match one call, without duplicates, in order."""
        return self._index.about(view)


class RuleSet:
    """Immutable set of rules. `for_tool` is one dict lookup after the first use.

    A tool not in `tools` has no rules: it cannot be called either.
    """

    def __init__(self, rules: Iterable[Rule] = (), tools: Mapping[str, Tool] | None = None) -> None:
        self.rules = tuple(rules)
        self._tools: Mapping[str, Tool] = tools or {}
        self._by_tool: dict[str, ToolRules] = {}

    def for_tool(self, name: str) -> ToolRules:
        """Return the rules that may apply to calls of the tool."""
        found = self._by_tool.get(name)
        if found is None:
            tool = self._tools.get(name)
            chosen = [rule for rule in self.rules if tool is not None and rule.concerns(tool)]
            found = self._by_tool[name] = ToolRules(chosen) if chosen else NOTHING
        return found


NOTHING = ToolRules()
NO_RULES = RuleSet()
