"""Bodies of proposed rules: conditions, scope, expiry, justification and examples."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

import orjson

from app.core.clock import stamp
from app.core.errors import InvalidInput
from app.policy.proposals.history import AnsweredCall
from app.policy.proposals.shapes import ArgumentsShape, CommandShape
from app.policy.proposals.word_types import narrowest
from app.policy.risk.model import Segment
from app.policy.rules.compile import matches, read_definition, stand_in
from app.policy.rules.definition import AnyOf, RuleDefinition, TypedWord
from app.policy.rules.globs import GLOBBED
from app.policy.rules.places import word_places
from app.policy.rules.rule import build_rule
from app.policy.rules.typed_words import TypedPattern
from app.policy.rules.words import NO, REST, YES
from app.toolkit.tool import Tool

LIFETIME_S = 90 * 86_400.0
MAX_EXAMPLES = 5
Kind = Literal["allow", "deny", "remove"]
Word = str | TypedWord


@dataclass(frozen=True, slots=True)
class Draft:
    """Rule that is not proven yet.

    Attributes:
        body: definition as JSON; for `remove` the removed rule's.
        evidence: calls that speak for it, newest first.
        rule_id: the stored rule to remove.
        why: one sentence for the person who decides.
        asked_for: the refused call that a rule was requested for.
    """

    kind: Kind
    body: dict[str, Any]
    evidence: tuple[AnsweredCall, ...]
    why: str
    rule_id: str | None = None
    asked_for: str | None = None

    @property
    def key(self) -> str:
        """Return a digest of what it says: equal for the same rule from other evidence."""
        said = {name: self.body.get(name) for name in ("tool", "match", "decision", "scope")}
        parts = [self.kind, said if self.kind != "remove" else None, self.rule_id]
        return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def command_body(
    shapes: Sequence[CommandShape], words: Sequence[Word], paths: Sequence[str], now: float
) -> Draft | None:
    """Return the allow rule for commands; None if it does not cover them."""
    first = shapes[0]
    options = orjson.loads(first.options)
    match: dict[str, Any] = {"argv": [_pattern(word) for word in words], "paths": list(paths)}
    if options:
        match["fields"] = {name: {"equals": value} for name, value in options.items()}
    positive = [_example(shape, options) for shape in _different(shapes)]
    negative = _near_misses(first, options)
    sources = tuple(shape.source for shape in shapes)
    return _draft(sources, match, positive, negative, now)


def arguments_body(
    shapes: Sequence[ArgumentsShape], varied: Mapping[str, dict[str, Any]], now: float
) -> Draft | None:
    """Return the allow rule for arguments; None if it does not cover them.

    Args:
        varied: conditions on the fields that varied; the others are kept.
    """
    first = shapes[0]
    tool = first.source.call.facts.tool
    known = tool.parameters.get("properties") or {}
    fields: dict[str, Any] = {
        name: varied.get(name) or {"equals": value} for name, value in first.values.items()
    }
    fields |= {name: {"exists": False} for name in known if name not in first.values}
    values = {repr(shape.values): dict(shape.values) for shape in shapes}
    positive = list(values.values())[:MAX_EXAMPLES]
    text = next((name for name, value in first.values.items() if isinstance(value, str)), None)
    changed = {**first.values, text: f"{first.values[text]} ../other"} if text else None
    negative = [changed] if changed is not None else []
    sources = tuple(shape.source for shape in shapes)
    return _draft(sources, {"fields": fields} if fields else {}, positive, negative, now)


def field_of(values: Sequence[Any]) -> dict[str, Any] | None:
    """Return the narrowest condition on a field with these values; None if there is none."""
    texts = {value for value in values if isinstance(value, str)}
    if len(texts) == len({repr(value) for value in values}):
        if len(texts) == 1:
            return {"equals": texts.pop()}
        word = narrowest(texts, "")
        if word is None:
            return None
        return {"regex": TypedPattern(word.type, word.begins, word.ends).regex}
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        if len(set(values)) == 1:
            return {"equals": values[0]}
        digits = len(str(max(values)))
        return {"range": {"min": 0, "max": 10**digits - 1}} if min(values) >= 0 else None
    return {"equals": values[0]} if len({repr(value) for value in values}) == 1 else None


def paths_of(shapes: Sequence[CommandShape], base: str) -> tuple[str, ...] | None:
    """Return globs on the paths that the commands name: below `base`, or the same in each.

    None where that does not bind the rule: a command without any word that may be a path, a path
    elsewhere that varied, or characters that a glob would read.
    """
    if GLOBBED.search(base):
        return None
    outside: set[frozenset[str]] = set()
    for shape in shapes:
        places = _named_paths(shape.argv, shape.base)
        if not places:
            return None
        outside.add(frozenset(path for path in places if not _is_below(path, base)))
    if len(outside) > 1:
        return None
    return (f"{base}/**", *sorted(outside.pop() if outside else ()))


@lru_cache(maxsize=4096)
def _named_paths(argv: tuple[str, ...], cwd: str) -> frozenset[str]:
    """Return every path that a command may name; empty if there is none, or one is not known."""
    places = [p.path for p in word_places(Segment(argv, "", cwd), windows=False) if p.surely]
    known = frozenset(path for path in places if path is not None)
    return known if None not in places else frozenset()


def words_said(word: Word) -> str:
    """Return a word of a rule as it is shown to people."""
    if isinstance(word, str):
        return shlex.quote(word)
    return f"{word.begins}<{word.type}>{word.ends}"


def described(body: Mapping[str, Any]) -> str:
    """Return the call that a proposed rule speaks about, in one line."""
    definition = read_definition(dict(body))
    argv = definition.match.argv
    if argv is None:
        return definition.tool
    shown = (words_said(w) if not isinstance(w, AnyOf) else "|".join(w.any_of) for w in argv)
    return " ".join(shown)


def literal(word: str) -> str:
    """Return the pattern of a word that matches nothing else."""
    escaped = "".join(f"[{char}]" if char in "*?[" else char for char in word)
    return "[.].." if escaped == REST else escaped


def _draft(
    sources: tuple[AnsweredCall, ...],
    match: dict[str, Any],
    positive: Sequence[dict[str, Any]],
    negative: Sequence[dict[str, Any]],
    now: float,
) -> Draft | None:
    first = sources[0]
    tool = first.call.facts.tool
    why = _approvals(sources)
    body: dict[str, Any] = {
        "tool": tool.name,
        "match": match,
        "decision": "allow",
        "justification": why,
        "examples": {"match": list(positive), "not_match": []},
        "scope": f"agent:{first.agent}",
        "expires_at": stamp(now + LIFETIME_S),
    }
    try:
        definition = read_definition(body)
    except InvalidInput:
        return None
    sure = checked(definition, tool, positive, negative)
    return Draft("allow", sure.to_json(), sources, why) if sure is not None else None


def checked(
    definition: RuleDefinition,
    tool: Tool,
    positive: Sequence[dict[str, Any]],
    negative: Sequence[dict[str, Any]],
) -> RuleDefinition | None:
    """Return the rule with its examples; None if it does not cover what speaks for it."""
    rule = build_rule("draft", definition)
    standing = stand_in(rule, definition, {tool.name: tool})
    if any(matches(rule, example, standing) is not YES for example in positive):
        return None
    apart = [example for example in negative if matches(rule, example, standing) is NO]
    examples = {"match": list(positive), "not_match": apart}
    return read_definition({**definition.to_json(), "examples": examples})


def checked_deny(
    definition: RuleDefinition, tool: Tool, positive: Sequence[str], negative: Sequence[str]
) -> RuleDefinition | None:
    """Return the deny rule with its examples; None if it does not match what was declined."""
    rule = build_rule("draft", definition)
    standing = stand_in(rule, definition, {tool.name: tool})
    if matches(rule, positive[0], standing) is not YES:
        return None
    found = [text for text in positive if matches(rule, text, standing) is YES]
    apart = [text for text in negative if matches(rule, text, standing) is NO]
    return read_definition(
        {**definition.to_json(), "examples": {"match": found, "not_match": apart}}
    )


def _pattern(word: Word) -> Any:
    if isinstance(word, str):
        return literal(word)
    return word.model_dump(mode="json", exclude_unset=True)


def _different(shapes: Sequence[CommandShape]) -> list[CommandShape]:
    found = {(shape.argv, shape.base): shape for shape in reversed(shapes)}
    return list(found.values())[-MAX_EXAMPLES:][::-1]


def _example(shape: CommandShape, options: Mapping[str, Any]) -> dict[str, Any]:
    name = shape.source.call.facts.tool.command_argument
    return {name: shlex.join(shape.argv), "working_dir": shape.base, **options}


def _near_misses(shape: CommandShape, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return calls that are close, and that the rule must not let through."""
    name = shape.source.call.facts.tool.command_argument
    command = shlex.join(shape.argv)
    *head, last = shape.argv
    further = [
        f"{command} ../other",
        f"sudo {command}",
        f"{command} && rm -rf /elsewhere",
        shlex.join([*head, f"../{last}"]),
        shlex.join([*head, f"--{last.lstrip('-')}"]),
    ]
    here = [{name: text, "working_dir": shape.base, **options} for text in further]
    return [*here, {name: command, "working_dir": "/elsewhere", **options}]


def _approvals(sources: Sequence[AnsweredCall]) -> str:
    people = Counter(source.answered_by or "unknown" for source in sources)
    days = len({source.day for source in sources})
    by = ", ".join(f"{person} ({count})" for person, count in sorted(people.items()))
    return f"Approved {len(sources)} times on {days} days by {by}; never declined."


def _is_below(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip("/") + "/")


def renewed(draft: Draft, now: float) -> Draft:
    """Return the draft with an expiry that counts from now."""
    if "expires_at" not in draft.body or draft.kind == "remove":
        return draft
    return replace(draft, body={**draft.body, "expires_at": stamp(now + LIFETIME_S)})
