"""Stored rules and grants as the sets that policy reads, built once per change.

An invalid rule never disables the others: an invalid ask or deny rule asks for its tools, an
invalid allow rule has no effect, and both are listed with their problem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
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
from app.policy.rules.review import RuleContext, RuleReview
from app.policy.rules.rule import Rule
from app.policy.rules.rule_set import NO_RULES, RuleSet

Review = Callable[[], dict[str, list[dict[str, str]]]]
NOTHING_MORE: Mapping[str, RuleDefinition] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """Stored rule with its parse result. `rule` is None if it has no effect."""

    stored: StoredRule
    rule: Rule | None
    definition: RuleDefinition | None
    problems: tuple[Problem, ...] = ()


RuleState = Literal["active", "disabled", "expired", "invalid"]


def rule_state(item: LoadedRule, now: float) -> RuleState:
    """Return whether a rule applies, and if not, why."""
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
    """Cache of the current set; costs two identity checks if nothing has changed."""

    def __init__(self, source: RuleSource, catalog: Callable[[], Catalog]) -> None:
        self._source = source
        self._catalog = catalog
        self._from_stored: tuple[StoredRule, ...] | None = None
        self._from_catalog: Catalog | None = None
        self._loaded: dict[str, LoadedRule] = {}
        self._set = NO_RULES
        self._review: RuleReview | None = None

    def current(self) -> RuleSet:
        """Return the current set."""
        stored, catalog = self._source.snapshot, self._catalog()
        if stored is not self._from_stored or catalog is not self._from_catalog:
            self._build(stored, catalog)
        return self._set

    def loaded(self) -> list[LoadedRule]:
        """Return every stored rule, in order."""
        self.current()
        return list(self._loaded.values())

    def with_rule(self, rule: Rule | None, *, instead_of: str | None = None) -> RuleSet:
        """Return the set with an additional rule, or without the named one."""
        kept = [known for known in self.current().rules if known.id != instead_of]
        return RuleSet([*kept, *([rule] if rule else [])], self._catalog().tools)

    def review(
        self,
        now: float,
        *,
        agents: Collection[str] | None = None,
        projects: Collection[str] | None = None,
        keys: Collection[str] | None = None,
        further: Mapping[str, RuleDefinition] = NOTHING_MORE,
    ) -> Review:
        """Return a thread-safe function that finds the warnings of valid rules.

        Args:
            keys: only of these rules.
            further: rules that supplement or replace the stored ones.
        """
        loaded = self.loaded()
        if self._review is None:
            self._review = _review_of(loaded)
        review = _review_of(loaded, further) if further else self._review
        around = RuleContext(self._catalog().tools, now, agents, projects)
        return partial(review.warnings, around, keys)

    def _build(self, stored: tuple[StoredRule, ...], catalog: Catalog) -> None:
        loaded: dict[str, LoadedRule] = {}
        for item in stored:
            known = self._loaded.get(item.id)
            if known is not None and known.stored is item:
                loaded[item.id] = known
            elif known is not None and known.stored.body == item.body:
                loaded[item.id] = LoadedRule(item, known.rule, known.definition, known.problems)
            else:
                rule, definition, problems = load_rule(item.id, item.body, catalog.tools)
                loaded[item.id] = LoadedRule(item, rule, definition, tuple(problems))
        rules = [item.rule for item in loaded.values() if item.rule and item.stored.enabled]
        self._set = RuleSet(rules, catalog.tools)
        self._loaded, self._review = loaded, None
        self._from_stored, self._from_catalog = stored, catalog


def _review_of(
    loaded: Iterable[LoadedRule], further: Mapping[str, RuleDefinition] = NOTHING_MORE
) -> RuleReview:
    valid = [item for item in loaded if item.stored.id not in further]
    definitions = {item.stored.id: item.definition for item in valid if item.definition}
    compiled = {item.stored.id: item.rule for item in valid if item.rule and not item.rule.broken}
    return RuleReview({**definitions, **further}, compiled)


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
