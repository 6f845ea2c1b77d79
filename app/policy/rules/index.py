"""Index of rules that may match a call, to avoid trying all of them.

It errs on one side only: an omitted rule certainly has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import re2

from app.policy.risk.model import Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.fields import FieldMatcher, as_text, regex, values_at
from app.policy.rules.places import CallPath, PathUnion, is_literal, union_of
from app.policy.rules.rule import Rule

# Patterns tried as one: few enough that a match does not select too many rules.
_TOGETHER = 40
_MAX_ROOTS = 64
Numbered = tuple[int, Rule]


class RuleIndex:
    """Rules about one tool, by required parts of a call."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._always: list[int] = []
        self._idle_in_shells: list[int] = []
        self._programs: dict[str, _ProgramRules] = {}
        placed: list[Numbered] = []
        written: dict[tuple[str | int, ...], list[Numbered]] = {}
        for at, rule in enumerate(rules):
            field = _telling(rule)
            if rule.programs is not None:
                for name in rule.programs:
                    self._programs.setdefault(name, _ProgramRules()).add(at, rule)
            elif rule.verdict is Verdict.ALLOW and not rule.is_empty and not rule.reads_commands:
                self._idle_in_shells.append(at)
            elif rule.paths and not rule.reads_commands:
                placed.append((at, rule))
            elif field is not None:
                written.setdefault(field.path, []).append((at, rule))
            else:
                self._always.append(at)
        self._placed = [_Placed(chunk) for chunk in _chunks(placed)]
        self._written = [
            _FieldRules(path, chunk) for path, found in written.items() for chunk in _chunks(found)
        ]

    def about(self, view: CallView) -> Iterable[Rule]:
        """Return the rules that may match one call, without duplicates, in order."""
        found = set(self._always)
        if view.report is None:
            found.update(self._idle_in_shells)
        for placed in self._placed:
            if placed.may_speak(view):
                found.update(placed.numbers)
        for written in self._written:
            if written.may_speak(view):
                found.update(written.numbers)
        for at, names in enumerate(view.programs if self._programs else ()):
            if not names:
                return self._rules
            for name in names:
                program = self._programs.get(name)
                if program is not None:
                    found.update(program.about(view.words[at]))
        return [self._rules[at] for at in sorted(found)]


class _ProgramRules:
    """Rules that name one program, by a required following word."""

    def __init__(self) -> None:
        self._all: list[int] = []
        self._any: list[int] = []
        self._by_word: dict[str, list[int]] = {}

    def add(self, at: int, rule: Rule) -> None:
        self._all.append(at)
        if not rule.needed:
            self._any.append(at)
            return
        for word in rule.needed[0]:
            self._by_word.setdefault(word, []).append(at)

    def about(self, words: frozenset[str | None] | None) -> Iterator[int]:
        if words is None:
            yield from self._all
            return
        yield from self._any
        for word in words:
            yield from self._by_word.get(word or "", ())


class _Placed:
    """Rules that match only calls with one of their paths."""

    def __init__(self, rules: Iterable[Numbered]) -> None:
        rules = tuple(rules)
        self.numbers = [at for at, _ in rules]
        self._texts = [pattern.text for _, rule in rules for pattern in rule.paths]
        self._by_root: dict[str, PathUnion] = {}

    def may_speak(self, view: CallView) -> bool:
        known = self._in(view.facts.cwd)
        return any(not is_literal(p) or known.fullmatch(p.path or "") for p in _places(view))

    def _in(self, root: str) -> PathUnion:
        found = self._by_root.get(root)
        if found is None:
            if len(self._by_root) >= _MAX_ROOTS:
                self._by_root.clear()
            found = self._by_root[root] = union_of(self._texts, root)
        return found


class _FieldRules:
    """Rules that match only if one field matches a regular expression."""

    def __init__(self, path: tuple[str | int, ...], rules: Iterable[Numbered]) -> None:
        rules = tuple(rules)
        self.numbers = [at for at, _ in rules]
        self._path = path
        operands = [field.operand for _, rule in rules if (field := _telling(rule)) is not None]
        self._any: re2._Regexp | None = None
        try:
            self._any = regex("|".join(f"(?:{text})" for text in operands))
        except re2.error:
            return  # two groups with one name, or too much for one pattern

    def may_speak(self, view: CallView) -> bool:
        if self._any is None:
            return True
        values: Iterator[Any] = values_at(view.values, self._path)
        return any(
            isinstance(value, str) and self._any.search(as_text(value)) is not None
            for value in values
        )


def _telling(rule: Rule) -> FieldMatcher | None:
    """Return a field condition without which the rule has no effect."""
    return next((field for field in rule.fields if field.kind == "regex"), None)


def _places(view: CallView) -> Iterator[CallPath]:
    if view.report is None:
        yield from view.argument_places
        return
    for at in range(len(view.segments)):
        yield from view.places(at)
    yield from view.redirected


def _chunks(rules: Sequence[Numbered]) -> Iterator[Sequence[Numbered]]:
    for start in range(0, len(rules), _TOGETHER):
        yield rules[start : start + _TOGETHER]
