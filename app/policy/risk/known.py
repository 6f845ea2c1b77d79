"""What a command does by its words alone, worked out once and kept for the next time it is met.

Most commands of a script do the same wherever they stand: neither a file that the script wrote
nor a function that it defined decides what they do. The walk asks for them here, and works out
the others itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from app.policy.risk import effects, flow, fold
from app.policy.risk.answers import judged
from app.policy.risk.call import Answer, CommandCall, Flow, RuleMatch, Stream, ask
from app.policy.risk.carriers import FILLING
from app.policy.risk.collected import CollectedCommand
from app.policy.risk.command import READERS, may_name_written, program_name, unresolved
from app.policy.risk.model import FileRun, RiskLevel
from app.policy.risk.registry import WRAPPING
from app.policy.risk.rules import git_publication
from app.policy.risk.runs import may_run_files, runs_of

MAX_CHARACTERS = 512
"""Longest name, longest words behind it and longest input of a command that is kept."""
MAX_KEPT = 2048
_UNSEEN = Stream(None)


class Known(NamedTuple):
    """What a command does as far as its words tell.

    Attributes:
        met: the command itself; None where each time it is met it is another one.
        name: the name of its program.
        judged_as: the name that its rules know it by.
        runs: the files that it runs or obeys.
        output: what it writes, where that is certain.
        shows: the question about what of the environment it shows.
        has_effects: it changes something for the commands behind it.
        may_fill: it may fill files with what it reads.
        looked: the files of which it matters whether the script has written them.
        looks_at_all: it matters whether the script has written any.
        asked: the files of which it matters whether they hold a secret by now.
        pushes: it matters which remotes of git the script has set.
    """

    met: CollectedCommand | None
    name: str
    judged_as: str
    answers: tuple[Answer, ...]
    runs: tuple[FileRun, ...]
    output: Stream
    shows: RuleMatch | None
    has_effects: bool
    may_fill: bool
    looked: tuple[str, ...]
    looks_at_all: bool
    asked: tuple[str, ...]
    pushes: bool

    def holds(self, files: Mapping[str, str | None], done: Flow) -> bool:
        """Whether that is what it does after a script that wrote `files` and has done `done`."""
        if files and (self.looks_at_all or not files.keys().isdisjoint(self.looked)):
            return False
        if done.files and not done.files.keys().isdisjoint(self.asked):
            return False
        return not (done.remotes and self.pushes)


class _Watched(dict[str, Any]):
    """Files, none so far, that notes which of them somebody asks for."""

    paths: tuple[str, ...] = ()

    def __contains__(self, path: object) -> bool:
        self.paths = (*self.paths, str(path))
        return False

    def get(self, path: str, otherwise: Any = None) -> Any:
        self.paths = (*self.paths, path)
        return otherwise


def is_short(argv: list[str], stdin: Stream | None) -> bool:
    """Whether what is known of a command may be kept."""
    if stdin is not None and (stdin.listed or len(stdin.text or "") > MAX_CHARACTERS):
        return False
    length = len("".join(argv))
    if length <= MAX_CHARACTERS:
        return True
    name = len(argv[0])
    return name <= MAX_CHARACTERS and length - name <= MAX_CHARACTERS


@lru_cache(maxsize=MAX_KEPT)
def known(
    argv: tuple[str, ...], cwd: str | None, home: str, stdin: Stream | None, *, contained: bool
) -> Known | None:
    """None where not even the program is known.

    The arguments are all that decides what is kept. What rules ask of the script besides, which
    files it wrote and what has become of them, is noted with it (`Known.holds`); functions and
    variables of the script, and files that are handed in, keep the walk from asking here.
    """
    word = argv[0]
    if unresolved(word) is not None:
        return None
    name = program_name(word)
    files, secrets = _Watched(), _Watched()
    call = CommandCall(name, list(argv[1:]), cwd, home, stdin, contained, {}, files, Flow(secrets))
    runs = tuple(runs_of(call, word)) if may_run_files(word) else ()
    output = fold.output(call) if name in fold.FOLDED else _UNSEEN
    secret = flow.shown(call) if name in flow.SHOWING else ""
    may_fill = name in FILLING and (name != "git" or flow.may_fill(call))
    answers = judged(call)
    judged_as, call.name = call.name, name
    return Known(
        None if name in WRAPPING else CollectedCommand(argv, cwd),
        name,
        judged_as,
        answers,
        runs,
        output,
        ask("secret_read", f"{name} shows {secret}", RiskLevel.MEDIUM) if secret else None,
        name in effects.EFFECTIVE,
        may_fill,
        _looked(call, word, files),
        name in READERS and may_name_written(call),
        secrets.paths,
        name in git_publication.RULES,
    )


def _looked(call: CommandCall, word: str, files: _Watched) -> tuple[str, ...]:
    looked = files.paths
    if "/" in word:
        looked = (*looked, call.at(word))
    if call.name in READERS:
        looked = (*looked, *map(call.at, call.args))
    return looked
