"""Warnings about valid rules that probably do not work as intended."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from app.policy.rules.definition import RuleDefinition, TypedWord, WordPattern
from app.policy.rules.rule import DEFAULT_AGENT, Rule, build_rule
from app.policy.rules.typed_words import TypedPattern
from app.policy.rules.words import REST
from app.toolkit.tool import Tool

_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
_ANCHORED = re.compile(r"(?:\(\?[a-z]+\))?(?:\^|\\A).*(?:\$|\\z)", re.DOTALL)
MAX_COMPARED = 200


@dataclass(frozen=True, slots=True)
class RuleContext:
    """Existing agents, projects and tools; None: unknown, so no warnings."""

    tools: Mapping[str, Tool]
    now: float
    agents: Collection[str] | None = None
    projects: Collection[str] | None = None
    sessions: Collection[str] | None = None


class RuleReview:
    """Finds the warnings of rules; what depends on the rules alone is found once.

    Thread-safe. `compiled` reuses compiled rules.
    """

    def __init__(
        self,
        definitions: Mapping[str, RuleDefinition],
        compiled: Mapping[str, Rule] | None = None,
    ) -> None:
        self._definitions = definitions
        self._compiled = compiled or {}
        self._beside: dict[str, list[tuple[str, str, str]]] = {}

    @cached_property
    def _index(self) -> _IncludeIndex:
        return _IncludeIndex(self._definitions)

    def warnings(
        self, around: RuleContext, keys: Iterable[str] | None = None
    ) -> dict[str, list[dict[str, str]]]:
        """Return warnings per rule, of every rule or of those named.

        A warning is `{code, message}`; with `rule_id` if it is about another rule.
        """
        wanted = self._definitions if keys is None else self._definitions.keys() & set(keys)
        return {key: self._of(key, around) for key in wanted}

    def _of(self, key: str, around: RuleContext) -> list[dict[str, str]]:
        definition = self._definitions[key]
        beside = self._beside.get(key)
        if beside is None:
            candidates = self._index.candidates(definition)
            beside = list(_beside(key, definition, self._definitions, candidates))
            self._beside[key] = beside
        rule = self._compiled.get(key) or build_rule(key, definition)
        alone = [
            {"code": code, "message": message} for code, message in _alone(definition, rule, around)
        ]
        others = [
            {"code": code, "message": message, "rule_id": other} for code, message, other in beside
        ]
        return [*alone, *others]


class _IncludeIndex:
    """Enabled rules by what including rules must have in common with them."""

    def __init__(self, definitions: Mapping[str, RuleDefinition]) -> None:
        self._keys: dict[tuple[str, str, str], list[str]] = {}
        for key, definition in definitions.items():
            if definition.enabled:
                for first in dict.fromkeys(_firsts(definition)) or ("",):
                    place = (definition.tool, definition.scope, first)
                    self._keys.setdefault(place, []).append(key)

    def candidates(self, narrow: RuleDefinition) -> list[str]:
        """Return keys of the rules that may include `narrow`, without duplicates."""
        found: dict[str, None] = {}
        for tool in dict.fromkeys(("*", narrow.tool)):
            for scope in dict.fromkeys(("global", narrow.scope)):
                for first in dict.fromkeys(("", *_firsts(narrow))):
                    found.update(dict.fromkeys(self._keys.get((tool, scope, first), ())))
        return list(found)[:MAX_COMPARED]


def _firsts(definition: RuleDefinition) -> list[str]:
    """Return the programs that a rule names, as text for comparison."""
    wanted = definition.match
    if wanted.command:
        return list(wanted.command)
    first = wanted.argv[0] if wanted.argv else None
    return [] if first is None else [first if isinstance(first, str) else repr(first)]


def _alone(
    definition: RuleDefinition, rule: Rule, around: RuleContext
) -> Iterable[tuple[str, str]]:
    if rule.expires is not None and rule.expires <= around.now:
        yield "expired", f"It expired at {definition.expires_at} and does nothing"
    yield from _unknown_scope(definition, around)
    concerned = [tool for tool in around.tools.values() if rule.concerns(tool)]
    if not concerned:
        yield "unknown_tool", f"No tool of the catalog is named by {definition.tool!r}"
        return
    shells = [tool.name for tool in concerned if tool.shell is not None]
    if rule.reads_commands and not shells:
        yield "never_matches", "argv and command speak about shells, and no tool it names is one"
    if definition.decision != "allow":
        return
    if shells and rule.is_empty:
        yield "allows_everything", f"It answers for every command of {', '.join(shells)}"
    elif not rule.reads_commands and len(shells) == len(concerned):
        yield "never_matches", "To allow a command, name its words with argv or command"
    for path, condition in (definition.match.fields or {}).items():
        if condition.regex is not None and not _ANCHORED.fullmatch(condition.regex):
            yield "unanchored", f"fields.{path}: without ^ and $ the rest may be anything"


def _unknown_scope(definition: RuleDefinition, around: RuleContext) -> Iterable[tuple[str, str]]:
    kind, _, wanted = definition.scope.partition(":")
    agents = None if around.agents is None else {*around.agents, DEFAULT_AGENT}
    if kind == "agent" and agents is not None and wanted not in agents:
        yield "unknown_agent", f"There is no agent {wanted!r}"
    if kind == "project" and around.projects is not None and wanted not in around.projects:
        yield "unknown_project", f"There is no project {wanted!r}"
    if kind == "session" and around.sessions is not None and wanted not in around.sessions:
        yield "unknown_session", f"There is no session {wanted!r}"


def _beside(
    key: str,
    definition: RuleDefinition,
    others: Mapping[str, RuleDefinition],
    active: list[str],
) -> Iterable[tuple[str, str, str]]:
    own = _STRENGTH[definition.decision]
    for other_key in active:
        other = others[other_key]
        if other_key == key or not includes(other, definition):
            continue
        strength = _STRENGTH[other.decision]
        if strength > own:
            message = f"{other_key} says {other.decision} to everything it matches"
            yield "unreachable", message, other_key
        elif strength == own and includes(definition, other) and _lasts(other, definition):
            yield "duplicate", f"{other_key} says the same", other_key


def _lasts(other: RuleDefinition, own: RuleDefinition) -> bool:
    return other.expires_at == own.expires_at


def includes(wide: RuleDefinition, narrow: RuleDefinition) -> bool:
    """Return whether `wide` certainly matches everything `narrow` matches, for as long."""
    if wide.scope not in ("global", narrow.scope):
        return False
    if wide.tool not in ("*", narrow.tool):
        return False
    if wide.expires is not None and (narrow.expires is None or narrow.expires > wide.expires):
        return False
    one, two = wide.match, narrow.match
    return (
        (one.fields is None or one.fields == two.fields)
        and (one.paths is None or (set(two.paths or ()) <= set(one.paths) and bool(two.paths)))
        and (one.urls is None or one.urls == two.urls)
        and _words_include(wide, narrow)
    )


def _words_include(wide: RuleDefinition, narrow: RuleDefinition) -> bool:
    one, two = wide.match, narrow.match
    if one.command is not None:
        first = two.argv[0] if two.argv else None
        named = set(two.command or ()) or ({first} if isinstance(first, str) else set())
        if not named or not named <= set(one.command):
            return False
    if one.argv is None:
        return True
    if one.argv == two.argv:
        return True
    if two.argv is None:
        return False
    if wide.decision == "allow" and len(one.argv) == len(two.argv):
        return all(map(_word_includes, one.argv, two.argv))
    head = one.argv[:-1]
    if one.argv[-1] != REST or any(not isinstance(w, str) or set(w) & set("*?[.") for w in head):
        return False
    return two.argv[: len(head)] == head


def _word_includes(wide: WordPattern, narrow: WordPattern) -> bool:
    """Return whether a word of an allow rule certainly covers another, at the same position."""
    if wide == narrow:
        return True
    if not isinstance(wide, TypedWord):
        return False
    pattern = TypedPattern(wide.type, wide.begins, wide.ends)
    if isinstance(narrow, TypedWord):
        # One word of the narrow kind shows whether what surrounds it fits the wide one.
        nested = narrow.type == wide.type and wide.type in ("path", "url")
        return nested and pattern.matches(f"{narrow.begins}x{narrow.ends}")
    return isinstance(narrow, str) and narrow != REST and pattern.matches(narrow)
