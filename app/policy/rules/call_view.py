"""Call as seen by rules: computed once, on demand, shared by all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from app.core.errors import TollgateError
from app.policy.facts import CallFacts
from app.policy.risk.model import RiskReport, Segment
from app.policy.rules.addresses import CallAddress, argument_addresses, word_addresses
from app.policy.rules.globs import GLOBBED
from app.policy.rules.places import (
    CallPath,
    argument_places,
    elsewhere,
    redirected,
    resolve,
    word_places,
)
from app.policy.rules.programs import SAME_VERBS, names_of
from app.toolkit.tool import PathFinder

_MOVES = frozenset({"cd", "pushd", "popd", "chdir", "set-location", "sl"})
_NOT_AND = re.compile(r"[;|&\n]")


_MAX_GLOBBED = 20


def _readable(words: tuple[str | None, ...]) -> tuple[str | None, ...]:
    globbed = [at for at, word in enumerate(words) if word and GLOBBED.search(word)]
    return words if len(globbed) <= _MAX_GLOBBED else (*words[: globbed[_MAX_GLOBBED]], None)


def _with_same(argv: tuple[str | None, ...]) -> frozenset[str | None]:
    """Return the words, including equivalent ones."""
    words = frozenset(argv)
    same = [SAME_VERBS[word] for word in words & SAME_VERBS.keys() if word is not None]
    return words.union(same) if same else words


def _is_known(argv: tuple[str | None, ...]) -> bool:
    return not any(word is None or GLOBBED.search(word) for word in argv)


class CallView:
    """Call with its risk report; expensive values are computed on demand."""

    def __init__(self, facts: CallFacts, report: RiskReport | None) -> None:
        self.facts = facts
        self.report = report
        self.windows = facts.tool.shell in ("powershell", "cmd")
        self.segments: tuple[Segment, ...] = report.segments if report else ()
        self._places: dict[int, tuple[CallPath, ...]] = {}

    @cached_property
    def values(self) -> Mapping[str, Any]:
        return self.facts.values

    @cached_property
    def programs(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of each segment's program; empty if unknown."""
        return tuple(
            names_of(segment.argv[0], windows=self.windows)
            if segment.argv and segment.argv[0]
            else ()
            for segment in self.segments
        )

    @cached_property
    def words(self) -> tuple[frozenset[str | None] | None, ...]:
        """Return the words of each segment; None if a word is unknown, or case is irrelevant.

        Words from a glob are unknown.
        """
        return tuple(
            None if self.windows or not _is_known(segment.argv) else _with_same(segment.argv)
            for segment in self.segments
        )

    @cached_property
    def arguments(self) -> tuple[tuple[str | None, ...], ...]:
        """Return the words after each program."""
        return tuple(
            tuple(word and word.casefold() for word in segment.argv[1:])
            if self.windows
            else segment.argv[1:]
            for segment in self.segments
        )

    @cached_property
    def readable(self) -> tuple[tuple[str | None, ...], ...]:
        """Return the same; words after very many globs count as unknown."""
        return tuple(map(_readable, self.arguments))

    @cached_property
    def wanders(self) -> bool:
        """Return whether a command may run although the preceding change of directory failed."""
        moves = any(not _MOVES.isdisjoint(names) for names in self.programs)
        return moves and _NOT_AND.search(self.facts.command.replace("&&", "")) is not None

    @cached_property
    def argument_places(self) -> tuple[CallPath, ...]:
        """Return paths in the arguments of a tool that is not a shell."""
        places = argument_places(self.values, self.facts.cwd)
        find = self.facts.tool.paths_in
        return places if find is None else (*places, *self._inner_places(find))

    def _inner_places(self, find: PathFinder) -> tuple[CallPath, ...]:
        """Return paths inside a text; an unknown one if the text is unreadable."""
        try:
            paths = find(self.values)
        except TollgateError:
            return (CallPath(None),)
        return tuple(CallPath(resolve(path, self.facts.cwd)) for path in paths)

    @cached_property
    def redirected(self) -> tuple[CallPath, ...]:
        """Return files that a shell itself, or a program text, opens for commands."""
        if self.windows:
            return ()
        found = redirected(self.facts.command, self.segments, self.facts.shell_cwd)
        opened = self.report.opened if self.report is not None else ()
        return tuple(dict.fromkeys([*found, *map(CallPath, opened)]))

    @cached_property
    def addresses(self) -> tuple[CallAddress, ...]:
        """Return addresses in the arguments of a tool that is not a shell."""
        return argument_addresses(self.values)

    def segment_addresses(self, at: int) -> tuple[CallAddress, ...]:
        """Return addresses in the words of one segment."""
        return word_addresses(self.segments[at])

    def places(self, at: int) -> tuple[CallPath, ...]:
        """Return possible paths in the words of one segment."""
        found = self._places.get(at)
        if found is None:
            segment = self.segments[at]
            found = word_places(segment, windows=self.windows, alone=len(self.segments) == 1)
            if self.wanders:
                found = (*found, *elsewhere(segment, found, self.facts.shell_cwd))
            self._places[at] = found
        return found
