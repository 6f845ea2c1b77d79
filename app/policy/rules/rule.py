"""Compiled rule: scope, matching and coverage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.policy.facts import CallFacts
from app.policy.risk.model import Segment, Verdict
from app.policy.rules.addresses import CallAddress, UrlPattern
from app.policy.rules.call_view import CallView
from app.policy.rules.definition import AnyOf, Conditions, RuleDefinition, TypedWord, WordPattern
from app.policy.rules.fields import FieldMatcher, steps
from app.policy.rules.places import CallPath, PathPattern
from app.policy.rules.programs import certain_names, names_of, readings
from app.policy.rules.typed_words import TypedPattern
from app.policy.rules.words import (
    MAYBE,
    NO,
    YES,
    PatternWord,
    WordMatch,
    compile_word,
    glob,
    match_words,
)
from app.toolkit.tool import Tool

# Agent of calls without one, as in `app.governance.identity.token_rules`.
DEFAULT_AGENT = "default"
_VERBS = {"allow": Verdict.ALLOW, "ask": Verdict.ASK, "deny": Verdict.DENY}


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Definition with compiled matchers, compared by identity.

    Attributes:
        broken: why its body is invalid. Such a rule asks for every call of its tools.
        programs: program names for the lookup; None: it must be tried on every command.
        needed: plain words by position, one of which must be in a command.
    """

    id: str
    tool: str
    verdict: Verdict
    scope: str = "global"
    expires: float | None = None
    justification: str = ""
    broken: str = ""
    argv: tuple[PatternWord, ...] = ()
    command: PatternWord | None = None
    fields: tuple[FieldMatcher, ...] = ()
    paths: tuple[PathPattern, ...] = ()
    urls: tuple[UrlPattern, ...] = ()
    programs: frozenset[str] | None = None
    needed: tuple[frozenset[str], ...] = ()
    folded_argv: tuple[PatternWord, ...] = ()
    folded_command: PatternWord | None = None

    @property
    def reads_commands(self) -> bool:
        return bool(self.argv or self.command)

    @property
    def is_empty(self) -> bool:
        return not (self.reads_commands or self.fields or self.paths or self.urls)

    def concerns(self, tool: Tool) -> bool:
        if self.tool.startswith("toolset:"):
            return tool.toolset == self.tool[8:]
        names = (tool.name, *(alias.name for alias in tool.aliases))
        pattern = glob(self.tool)
        return any(pattern.match(name) for name in names)

    def in_force(self, facts: CallFacts, now: float) -> bool:
        if self.expires is not None and self.expires <= now:
            return False
        kind, _, wanted = self.scope.partition(":")
        if kind == "agent":
            return (facts.agent_id or DEFAULT_AGENT) == wanted
        if kind == "project":
            return facts.project_id == wanted
        return kind == "global" or facts.session_id == wanted

    def match(self, view: CallView) -> tuple[WordMatch, int | None]:
        """Match an ask or deny rule on any command; return the match and the command's index."""
        if self.fields and not all(f.match(view.values, every=False) for f in self.fields):
            return NO, None
        if not view.segments:
            if self.reads_commands:
                return NO, None
            if view.report is None or not (self.paths or self.urls):
                return min(self._call_places(view), self._call_urls(view)), None
        if not (self.reads_commands or self.paths or self.urls):
            return YES, None
        best: tuple[WordMatch, int | None] = (NO, None)
        for at, segment in enumerate(view.segments):
            found = self._segment(view, at, segment)
            if found > best[0]:
                best = (found, at)
                if found is YES:
                    return best
        if not self.reads_commands and not self.urls:
            opened = self._any_place(view.redirected, view.facts.cwd)
            best = (opened, None) if opened > best[0] else best
        return best

    def covers(self, view: CallView) -> frozenset[int]:
        """Return the commands of a shell that an allow rule covers, certain of every word."""
        if self.verdict is not Verdict.ALLOW or (not self.is_empty and not self.reads_commands):
            return frozenset()
        if self.fields and not all(f.match(view.values, every=True) for f in self.fields):
            return frozenset()
        if self.paths and any(
            place for place in view.redirected if not self._certain_place(place, view)
        ):
            return frozenset()
        return frozenset(
            at
            for at, segment in enumerate(view.segments)
            if self._covers_segment(view, at, segment)
        )

    def allows(self, view: CallView) -> bool:
        """Return whether an allow rule covers a call of a tool that is not a shell."""
        if self.reads_commands:
            return False
        if not all(f.match(view.values, every=True) for f in self.fields):
            return False
        places, addresses = view.argument_places, view.addresses
        if self.paths and not (
            places and all(self._certain_place(place, view) for place in places)
        ):
            return False
        return not self.urls or (bool(addresses) and all(map(self._certain_url, addresses)))

    # -- deny and ask -----------------------------------------------------------------

    def _segment(self, view: CallView, at: int, segment: Segment) -> WordMatch:
        found = self._words(view, at, segment) if self.reads_commands else YES
        if found and self.paths:
            root = view.facts.cwd
            places = self._any_place(view.places(at), root)
            if places is not YES and self.reads_commands:
                places = max(places, self._any_place(view.redirected, root))
            found = min(found, places)
        if found and self.urls:
            found = min(found, self._any_url(view.segment_addresses(at)))
        return found

    def _words(self, view: CallView, at: int, segment: Segment) -> WordMatch:
        names = view.programs[at]
        if not names:
            return MAYBE if segment.argv else NO
        if self.needed and (words := view.words[at]) is not None:
            for choices in self.needed:
                if choices.isdisjoint(words):
                    return NO
        found = YES
        command = self.folded_command if view.windows else self.command
        if command is not None:
            found = max(map(command.certain, names))
        if found and self.argv:
            found = min(found, self._argv(view, names, at))
        return found

    def _argv(self, view: CallView, names: tuple[str, ...], at: int) -> WordMatch:
        pattern = self.folded_argv if view.windows else self.argv
        first = pattern[0]
        name = next((name for name in names if first.rest or first.certain(name)), None)
        if name is None:
            return NO
        args, whole = view.readable[at], view.arguments[at]
        operands = not any(word.is_option for word in pattern)
        best = NO
        for reading in readings(names[-1], args, operands=operands):
            best = max(best, match_words(pattern, (name, *reading)))
            if best is YES:
                return best
        if args is not whole and self._names_all(whole):
            best = max(best, match_words(pattern, (name, *whole), certain=True))
        return best

    def _names_all(self, words: tuple[str | None, ...]) -> bool:
        return all(any(word in choices for word in words) for choices in self.needed)

    def _any_place(self, places: Iterable[CallPath], root: str) -> WordMatch:
        best = NO
        for place in places:
            for pattern in self.paths:
                found = pattern.match(place, root)
                if found is YES and not place.perhaps:
                    return YES
                if found:
                    best = MAYBE
        return best

    def _any_url(self, addresses: Iterable[CallAddress]) -> WordMatch:
        found = (pattern.match(address) for address in addresses for pattern in self.urls)
        return max(found, default=NO)

    def _call_places(self, view: CallView) -> WordMatch:
        if not self.paths:
            return YES
        return self._any_place(view.argument_places, view.facts.cwd)

    def _call_urls(self, view: CallView) -> WordMatch:
        return self._any_url(view.addresses) if self.urls else YES

    # -- allow ------------------------------------------------------------------------

    def _covers_segment(self, view: CallView, at: int, segment: Segment) -> bool:
        if not segment.argv or any(word is None for word in segment.argv):
            return False
        names = certain_names(segment.argv[0] or "")
        if self.command is not None and not any(map(self.command.certain, names)):
            return False
        words = segment.argv[1:]
        if self.argv and not any(
            match_words(self.argv, (name, *words), certain=True) for name in names
        ):
            return False
        if self.paths:
            places = [place for place in view.places(at) if place.surely]
            if not places or not all(self._certain_place(place, view) for place in places):
                return False
        if self.urls:
            addresses = view.segment_addresses(at)
            return bool(addresses) and all(map(self._certain_url, addresses))
        return True

    def _certain_place(self, place: CallPath, view: CallView) -> bool:
        return any(pattern.covers(place, view.facts.cwd) for pattern in self.paths)

    def _certain_url(self, address: CallAddress) -> bool:
        return not address.odd and any(pattern.match(address) is YES for pattern in self.urls)


def build_rule(rule_id: str, definition: RuleDefinition) -> Rule:
    """Compile the matchers of a valid definition."""
    wanted: Conditions = definition.match
    argv = tuple(_position(word) for word in wanted.argv or ())
    command = compile_word(wanted.command) if wanted.command else None
    return Rule(
        rule_id,
        definition.tool,
        _VERBS[definition.decision],
        definition.scope,
        definition.expires,
        definition.justification.strip(),
        argv=argv,
        command=command,
        fields=tuple(
            FieldMatcher(steps(path), condition.kind, condition.operand)
            for path, condition in (wanted.fields or {}).items()
        ),
        paths=tuple(PathPattern(text) for text in wanted.paths or ()),
        urls=tuple(UrlPattern(u.scheme, u.host, u.port, u.path) for u in wanted.urls or ()),
        programs=_programs(argv, command),
        needed=tuple(
            word.literals
            for word in argv[1:]
            if word.literals and not word.globs and not word.is_option
        ),
        folded_argv=tuple(_position(word, folded=True) for word in wanted.argv or ()),
        folded_command=compile_word(map(str.casefold, wanted.command or ())) if command else None,
    )


def _position(word: WordPattern, *, folded: bool = False) -> PatternWord:
    if isinstance(word, TypedWord):
        return PatternWord(typed=TypedPattern(word.type, word.begins, word.ends))
    choices = word.any_of if isinstance(word, AnyOf) else [word]
    return compile_word(map(str.casefold, choices) if folded else choices)


def broken_rule(rule_id: str, tool: str, problem: str) -> Rule:
    """Return the replacement of an invalid ask or deny rule, whose intended effect is unknown."""
    return Rule(rule_id, tool, Verdict.ASK, broken=problem)


def _programs(argv: tuple[PatternWord, ...], command: PatternWord | None) -> frozenset[str] | None:
    first = command or (argv[0] if argv else None)
    if first is None or first.rest or first.globs:
        return None
    return frozenset(name for literal in first.literals for name in names_of(literal))
