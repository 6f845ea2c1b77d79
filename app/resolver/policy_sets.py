"""Stored rules and grants as the sets that policy reads, built once per change.

A rule that cannot be read never disables the rest: an invalid ask or deny asks for its
tools, an invalid allow does nothing, and both are listed with what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, Protocol

from app.catalog.catalog import Catalog
from app.core.field_problems import Problem
from app.governance.grants import PERMANENT_SCOPES, GrantStore, StoredGrant
from app.governance.rules import StoredRule
from app.policy.grants import Grant, GrantSet
from app.policy.rules.compile import load_rule
from app.policy.rules.definition import RuleDefinition
from app.policy.rules.review import RuleContext, warnings
from app.policy.rules.rule import Rule
from app.policy.rules.rule_set import NO_RULES, RuleSet

Review = Callable[[], dict[str, list[dict[str, str]]]]
NOTHING_MORE: Mapping[str, RuleDefinition] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """A stored rule, and what came of reading it. `rule` None: it does nothing."""

    stored: StoredRule
    rule: Rule | None
    definition: RuleDefinition | None
    problems: tuple[Problem, ...] = ()


RuleState = Literal["active", "disabled", "expired", "invalid"]


def rule_state(item: LoadedRule, now: float) -> RuleState:
    """Whether a rule speaks, and if not, why."""
    if not item.stored.enabled:
        return "disabled"
    if item.problems:
        return "invalid"
    expires = item.definition.expires if item.definition else None
    return "expired" if expires is not None and expires <= now else "active"


class RuleSource(Protocol):
    """Where rules come from: the database, or a file alone."""

    @property
    def snapshot(self) -> tuple[StoredRule, ...]: ...


class RuleSetCache:
    """The current set; two identity checks when nothing has changed."""

    def __init__(self, source: RuleSource, catalog: Callable[[], Catalog]) -> None:
        self._source = source
        self._catalog = catalog
        self._from_stored: tuple[StoredRule, ...] | None = None
        self._from_catalog: Catalog | None = None
        self._loaded: dict[str, LoadedRule] = {}
        self._set = NO_RULES

    def current(self) -> RuleSet:
        """The current set."""
        stored, catalog = self._source.snapshot, self._catalog()
        if stored is not self._from_stored or catalog is not self._from_catalog:
            self._build(stored, catalog)
        return self._set

    def loaded(self) -> list[LoadedRule]:
        """Every stored rule, in order."""
        self.current()
        return list(self._loaded.values())

    def with_rule(self, rule: Rule | None, *, instead_of: str | None = None) -> RuleSet:
        """The set as it would be with one more rule, or without the one that is named."""
        kept = [known for known in self.current().rules if known.id != instead_of]
        return RuleSet([*kept, *([rule] if rule else [])], self._catalog().tools)

    def review(
        self,
        now: float,
        *,
        agents: Collection[str] | None = None,
        further: Mapping[str, RuleDefinition] = NOTHING_MORE,
    ) -> Review:
        """What finds out what is odd about each valid rule; safe to call in another thread.

        Args:
            further: rules put beside the stored ones, or in their place.
        """
        loaded = [item for item in self.loaded() if item.stored.id not in further]
        definitions = {
            item.stored.id: item.definition for item in loaded if item.definition is not None
        }
        compiled = {
            item.stored.id: item.rule for item in loaded if item.rule and not item.rule.broken
        }
        around = RuleContext(self._catalog().tools, now, agents)
        return partial(warnings, {**definitions, **further}, around, compiled)

    def _build(self, stored: tuple[StoredRule, ...], catalog: Catalog) -> None:
        loaded: dict[str, LoadedRule] = {}
        for item in stored:
            known = self._loaded.get(item.id)
            if known is not None and known.stored.body == item.body:
                loaded[item.id] = LoadedRule(item, known.rule, known.definition, known.problems)
            else:
                rule, definition, problems = load_rule(item.id, item.body, catalog.tools)
                loaded[item.id] = LoadedRule(item, rule, definition, tuple(problems))
        rules = [item.rule for item in loaded.values() if item.rule and item.stored.enabled]
        self._set = RuleSet(rules, catalog.tools)
        self._loaded = loaded
        self._from_stored, self._from_catalog = stored, catalog


class GrantSetCache:
    """The current set; two attribute reads when nothing has changed.

    Args:
        permanent: grants that outlive a session count.
    """

    def __init__(self, store: GrantStore, *, permanent: bool = True) -> None:
        self._store = store
        self._permanent = permanent
        self._built_from: tuple[StoredGrant, ...] | None = None
        self._set = GrantSet(())

    def current(self) -> GrantSet:
        stored = self._store.snapshot
        if self._built_from is not stored:
            counted = (g for g in stored if self._permanent or g.scope not in PERMANENT_SCOPES)
            self._set = GrantSet(tuple(map(_grant, counted)))
            self._built_from = stored
        return self._set


def _grant(stored: StoredGrant) -> Grant:
    return Grant(
        id=stored.id,
        tool_name=stored.tool_name,
        scope=stored.scope,
        scope_id=stored.scope_id,
        pattern=stored.pattern,
        expires_at=stored.expires_at,
    )
