"""Parser of robots.txt according to RFC 9309."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

MAX_ROBOTS = 500_000
_MAX_RULES = 5000
_SAFE = "/%?=&:;@+$,~*!'()"


@dataclass(frozen=True, slots=True)
class Robots:
    """Rules for us: `(allow, pattern)`.

    Attributes:
        closed: nothing may be fetched, because the server failed to provide the rules.
    """

    rules: tuple[tuple[bool, str], ...] = ()
    closed: bool = False

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be fetched: the longest pattern decides."""
        if self.closed:
            return False
        matching = [
            (len(pattern), allow) for allow, pattern in self.rules if _matches(pattern, target)
        ]
        return max(matching, default=(0, True))[1]


@dataclass(slots=True)
class _AgentGroup:
    agents: set[str] = field(default_factory=set)
    rules: list[tuple[bool, str]] = field(default_factory=list)


def parse_robots(text: str, agent: str) -> Robots:
    """Return the rules for `agent`: of all groups that name it, otherwise of those for `*`."""
    groups: list[_AgentGroup] = []
    naming = False
    if len(text) > MAX_ROBOTS:
        text = text[:MAX_ROBOTS].rpartition("\n")[0]
    for line in text.lstrip("\ufeff").splitlines():
        name, mark, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not mark:
            continue
        if name == "user-agent":
            if not naming:
                groups.append(_AgentGroup())
            groups[-1].agents.add(value.lower())
            naming = True
        elif name in ("allow", "disallow") and groups:
            naming = False
            if value and len(groups[-1].rules) < _MAX_RULES:
                groups[-1].rules.append((name == "allow", quote(value, safe=_SAFE)))
    wanted = agent.lower()
    ours = [group for group in groups if wanted in group.agents]
    chosen = ours or [group for group in groups if "*" in group.agents]
    rules = [rule for group in chosen for rule in group.rules]
    return Robots(tuple(rules[:_MAX_RULES]))


def _matches(pattern: str, target: str) -> bool:
    """Match `*` as any text and a final `$` as the end, in time linear in the lengths."""
    whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    if not others:
        return not whole or target == first
    place = len(first)
    for part in others[:-1]:
        found = target.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    last = others[-1]
    if whole:
        return target.endswith(last) and len(target) - len(last) >= place
    return target.find(last, place) >= 0
