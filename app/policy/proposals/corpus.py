"""The risk corpus: labelled commands that a proposed rule must not decide differently.

The packaged file is made of the corpora that the tests of the risk analysis use
(`scripts/write_corpus.py`). Each case names the programs that its commands run, so that only the
cases which a rule may concern are decided again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from app.policy.risk.assess import assess_command
from app.policy.risk.model import ShellName, Verdict
from app.policy.rules.globs import GLOBBED
from app.policy.rules.programs import SAME_VERBS, names_of
from app.policy.rules.rule import Rule

PACKAGED = Path(__file__).with_name("corpus.jsonl")
_PLACE = "/place-of-the-corpus"
UNKNOWN = "?"
"""Stands for a program that is known only when the command runs, and for unread code."""


@dataclass(frozen=True, slots=True)
class CorpusCase:
    """One labelled command.

    Attributes:
        programs: names of the programs of its commands; `UNKNOWN` where one is not known.
    """

    shell: ShellName
    command: str
    programs: frozenset[str]


class Corpus:
    """Cases by shell."""

    def __init__(self, cases: Sequence[CorpusCase]) -> None:
        self.cases = cases
        self._words: dict[CorpusCase, frozenset[str] | None] = {}

    def of_shell(self, shell: ShellName | None) -> Iterator[CorpusCase]:
        return (case for case in self.cases if case.shell == shell)

    def may_concern(self, case: CorpusCase, rule: Rule) -> bool:
        """Return whether the rule may have an effect on the case; False is certain."""
        loose = rule.verdict is not Verdict.ALLOW
        if rule.programs is None or (loose and UNKNOWN in case.programs):
            return True
        if rule.programs.isdisjoint(case.programs):
            return False
        words = self._words_of(case)
        if words is None:
            return True
        if loose:
            # Each of these stands in what an ask or deny rule matches, however it is spelled.
            return not any(map(words.isdisjoint, rule.needed))
        return all(pattern.rest or any(map(pattern.covers, words)) for pattern in rule.argv[1:])

    def _words_of(self, case: CorpusCase) -> frozenset[str] | None:
        """Return all words of its commands, and those that mean the same.

        None if a word is not known, or depends on the working directory.
        """
        if case not in self._words:
            report = assess_command(case.command, shell=case.shell, cwd=_PLACE)
            listed = [word for segment in report.segments for word in segment.argv]
            known = frozenset(word for word in listed if word is not None)
            unsure = len(known) < len(set(listed)) or any(
                _PLACE in word or GLOBBED.search(word) for word in known
            )
            same = frozenset(SAME_VERBS[word] for word in known & SAME_VERBS.keys())
            self._words[case] = None if unsure or case.shell != "bash" else known | same
        return self._words[case]


@lru_cache(maxsize=1)
def packaged() -> Corpus:
    """Return the packaged corpus, about twenty thousand cases."""
    lines = PACKAGED.read_bytes().splitlines()
    return Corpus(tuple(_case(orjson.loads(line)) for line in lines))


def programs_of(command: str, shell: ShellName) -> frozenset[str]:
    """Return the names that a rule may know the programs of a command by."""
    report = assess_command(command, shell=shell)
    windows = shell != "bash"
    found = {UNKNOWN} if report.opaque else set[str]()
    for segment in report.segments:
        program = segment.argv[0] if segment.argv else None
        found.update(names_of(program, windows=windows) if program else (UNKNOWN,))
    return frozenset(found)


def _case(fields: Any) -> CorpusCase:
    shell, command, programs = fields
    return CorpusCase(shell, command, frozenset(programs))
