"""Narrow allow rules from repeated approvals, to be proven before anyone sees them.

What never varied is kept as it stands. What varied becomes the narrowest kind of word that holds
without any two of the approvals, so that a few approvals that differ never widen a rule.
"""

from __future__ import annotations

import os.path
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, zip_longest
from typing import Any

from app.policy.proposals.bodies import Draft, arguments_body, command_body, field_of, paths_of
from app.policy.proposals.history import AnsweredCall, History
from app.policy.proposals.shapes import ArgumentsShape, CommandShape, shapes_of
from app.policy.proposals.word_types import narrowest
from app.policy.rules.definition import TypedWord
from app.policy.rules.typed_words import TypedPattern

MIN_APPROVALS = 5
MIN_DAYS = 2
MIN_VALUES = 3
"""Different values of what varied: two may be chance."""

MAX_VARYING = 2
_MAX_DISTINCT = 40
_MOST_CLUSTERS = 4
_MOST = 2 / 3
"""Share of the commands in one folder from which on the others are odd ones."""
_MANY_WORDS = 12

Word = str | TypedWord
Key = tuple[Hashable, ...]
Feature = Callable[[CommandShape], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """What commands have in common.

    Attributes:
        base: folder in or below which all of them ran.
        paths: globs on every path that they name.
    """

    words: tuple[Word, ...]
    base: str
    paths: tuple[str, ...]


def drafts(history: History, now: float) -> list[Draft]:
    """Return unproven allow rules, those for most approvals first."""
    commands: defaultdict[Key, list[CommandShape]] = defaultdict(list)
    arguments: defaultdict[Key, list[ArgumentsShape]] = defaultdict(list)
    for item, decision in zip(history.calls, history.decisions, strict=True):
        if item.ending != "approved" or not item.is_evidence:
            continue
        for shape in shapes_of(item, decision):
            if isinstance(shape, CommandShape):
                commands[_kind_of_command(shape)].append(shape)
            else:
                arguments[(*shape.place, tuple(sorted(shape.values)))].append(shape)
    found: dict[Hashable, Draft] = {}
    for group in commands.values():
        for draft in _of_commands(group, now):
            found.setdefault(draft.key, draft)
    for calls in arguments.values():
        for draft in _of_arguments(calls, now):
            found.setdefault(draft.key, draft)
    return sorted(found.values(), key=lambda draft: (-len(draft.evidence), draft.key))


def _kind_of_command(shape: CommandShape) -> Key:
    options = tuple((at, word) for at, word in enumerate(shape.argv) if word.startswith("-"))
    return (*shape.place, shape.options, shape.argv[0], len(shape.argv), options)


def _of_commands(group: Sequence[CommandShape], now: float) -> Iterator[Draft]:
    if not _is_enough(shape.source for shape in group):
        return
    argv = group[0].argv
    operands = [at for at in range(1, len(argv)) if not argv[at].startswith("-")]
    most = MAX_VARYING if len(argv) <= _MANY_WORDS else 1
    for varying in range(most + 1):
        for mask in combinations(operands, varying):
            buckets: defaultdict[Key, list[CommandShape]] = defaultdict(list)
            for shape in group:
                fixed = tuple(w for at, w in enumerate(shape.argv) if at not in mask)
                buckets[fixed].append(shape)
            for bucket in buckets.values():
                yield from _of_bucket(bucket, mask, now)


def _of_bucket(bucket: Sequence[CommandShape], mask: Sequence[int], now: float) -> Iterator[Draft]:
    """Yield the rule for most of the commands, then those for the rest."""
    rest = _by_call(bucket)
    for _ in range(_MOST_CLUSTERS):
        if not _is_enough(shape.source for shape in rest):
            return
        cluster = _dominant(rest, mask)
        if (draft := _settled(rest, cluster, mask, now)) is not None:
            yield draft
            explained = {item.operation_id for item in draft.evidence}
        else:
            explained = {shape.source.operation_id for shape in cluster}
        rest = [shape for shape in rest if shape.source.operation_id not in explained]


def _dominant(shapes: Sequence[CommandShape], mask: Sequence[int]) -> Sequence[CommandShape]:
    """Return the commands without those few that go to other folders or other kinds of files."""
    kept = shapes
    features: list[Feature] = [_base_of, *(partial(_place_of, at=at) for at in mask)]
    for feature in features:
        depth = 0
        while True:
            counted = Counter(feature(shape)[: depth + 1] for shape in kept)
            part, count = counted.most_common(1)[0]
            if count < len(kept) * _MOST or len(part) <= depth:
                break
            kept = [shape for shape in kept if feature(shape)[: depth + 1] == part]
            depth += 1
    return kept


def _base_of(shape: CommandShape) -> tuple[str, ...]:
    return (shape.base,)


def _place_of(shape: CommandShape, at: int) -> tuple[str, ...]:
    """Return the folders of a word, one after another."""
    return tuple(shape.argv[at].split("/")[:-1])


def _settled(
    bucket: Sequence[CommandShape],
    cluster: Sequence[CommandShape],
    mask: Sequence[int],
    now: float,
) -> Draft | None:
    """Return the rule that holds without any two approvals, from those that agree with it."""
    kept = _sample(cluster)
    while _is_enough(shape.source for shape in kept):
        found = pattern_of(kept, mask)
        odd = _odd_ones(kept, mask, found)
        if not odd:
            values = ({shape.argv[at] for shape in kept} for at in mask)
            if found is None or any(len(each) < MIN_VALUES for each in values):
                return None
            agreeing = [shape for shape in bucket if _agrees(shape, found)]
            return command_body(agreeing, found.words, found.paths, now)
        kept = [shape for shape in kept if shape not in odd]
    return None


def _odd_ones(
    kept: Sequence[CommandShape], mask: Sequence[int], found: CommandPattern | None
) -> Sequence[CommandShape]:
    """Return one or two approvals without which the pattern would be another."""
    seen = Counter((shape.argv, shape.base) for shape in kept)
    for count in (1, 2):
        single = [shape for shape in kept if seen[shape.argv, shape.base] <= count]
        for few in combinations(single, count):
            rest = [shape for shape in kept if shape not in few]
            without = pattern_of(rest, mask) if rest else found
            if without != found and without is not None:
                return few
    return ()


def _by_call(bucket: Sequence[CommandShape]) -> list[CommandShape]:
    """Return one shape per call."""
    calls: dict[str, CommandShape] = {}
    for shape in bucket:
        calls.setdefault(shape.source.operation_id, shape)
    return list(calls.values())


def _sample(bucket: Sequence[CommandShape]) -> list[CommandShape]:
    """Return the shapes of at most `_MAX_DISTINCT` different commands, from all days in turn."""
    days: defaultdict[str, list[CommandShape]] = defaultdict(list)
    for shape in bucket:
        days[shape.source.day].append(shape)
    chosen: list[CommandShape] = []
    distinct: set[Key] = set()
    for turn in zip_longest(*days.values()):
        for shape in turn:
            if shape is None:
                continue
            key = (shape.argv, shape.base)
            if key in distinct or len(distinct) < _MAX_DISTINCT:
                distinct.add(key)
                chosen.append(shape)
    return chosen


def _agrees(shape: CommandShape, found: CommandPattern) -> bool:
    """Return whether a command is one of the pattern."""
    if shape.base != found.base and not shape.base.startswith(found.base.rstrip("/") + "/"):
        return False
    return all(
        TypedPattern(word.type, word.begins, word.ends).matches(own)
        if isinstance(word, TypedWord)
        else word == own
        for word, own in zip(found.words, shape.argv, strict=True)
    )


def pattern_of(shapes: Sequence[CommandShape], mask: Sequence[int]) -> CommandPattern | None:
    """Return what the commands have in common; None if what varied has no narrow kind."""
    first = shapes[0]
    words: list[Word] = list(first.argv)
    for at in mask:
        values = {shape.argv[at] for shape in shapes}
        if len(values) > 1:
            kind = narrowest(values, first.argv[0])
            if kind is None:
                return None
            words[at] = kind
    base = os.path.commonpath([shape.base for shape in shapes])
    below = base == first.root or base.startswith(first.root.rstrip("/") + "/")
    if first.root == "/" or not below:
        return None
    paths = paths_of(shapes, base)
    return None if paths is None else CommandPattern(tuple(words), base, paths)


def _of_arguments(group: Sequence[ArgumentsShape], now: float) -> Iterator[Draft]:
    """Yield rules on the fields of a tool: all fixed, or one of them of a kind."""
    if not _is_enough(shape.source for shape in group):
        return
    names = sorted(group[0].values)
    for varying in (None, *names):
        buckets: defaultdict[str, list[ArgumentsShape]] = defaultdict(list)
        for shape in group:
            fixed = {name: shape.values[name] for name in names if name != varying}
            buckets[repr(sorted(fixed.items()))].append(shape)
        for bucket in buckets.values():
            if (draft := _settled_arguments(bucket, varying, now)) is not None:
                yield draft


def _settled_arguments(
    bucket: Sequence[ArgumentsShape], varying: str | None, now: float
) -> Draft | None:
    kept = list({shape.source.operation_id: shape for shape in bucket}.values())
    if varying is None:
        enough = _is_enough(shape.source for shape in kept)
        return arguments_body(kept, {}, now) if enough else None
    distinct = list(dict.fromkeys(repr(shape.values[varying]) for shape in kept))[:_MAX_DISTINCT]
    kept = [shape for shape in kept if repr(shape.values[varying]) in distinct]
    while _is_enough(shape.source for shape in kept):
        values: list[Any] = [shape.values[varying] for shape in kept]
        found = field_of(values)
        odd = _odd_values(values, found)
        if not odd:
            if found is None or len({repr(value) for value in values}) < MIN_VALUES:
                return None
            return arguments_body(kept, {varying: found}, now)
        kept = [shape for shape in kept if not any(shape.values[varying] == one for one in odd)]
    return None


def _odd_values(values: Sequence[Any], found: dict[str, Any] | None) -> Sequence[Any]:
    seen = Counter(map(repr, values))
    for count in (1, 2):
        single = [value for value in values if seen[repr(value)] <= count]
        for few in combinations(single, count):
            rest = [value for value in values if value not in few]
            without = field_of(rest) if rest else found
            if without != found and without is not None:
                return few
    return ()


def _is_enough(sources: Iterable[AnsweredCall]) -> bool:
    """Return whether there are enough different calls, answered on enough days."""
    answered = {source.operation_id: source.day for source in sources}
    return len(answered) >= MIN_APPROVALS and len(set(answered.values())) >= MIN_DAYS
