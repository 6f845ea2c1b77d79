"""Cache of commands determined by their words alone.

Most commands of a script have the same effect everywhere: neither files written nor functions
defined by the script matter. The walk looks them up here, and computes the others itself.
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
"""Longest name, words and input of a cached command."""
MAX_KEPT = 2048
_UNSEEN = Stream(None)


class Known(NamedTuple):
    """Behavior of a command according to its words.

    Attributes:
        met: visited command; None if it differs each time.
        name: name of its program.
        judged_as: name used by its rules.
        runs: files that it runs or reads as configuration.
        output: its output, if certain.
        shows: question about the part of the environment it shows.
        has_effects: it affects later commands.
        may_fill: it may fill files with its input.
        looked: files for which it matters whether the script wrote them.
        looks_at_all: it matters whether the script wrote any file.
        asked: files for which it matters whether they contain a secret.
        pushes: it matters which git remotes the script has set.
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
        """Return whether it is valid after a script that wrote `files` and has done `done`."""
        if files and (self.looks_at_all or not files.keys().isdisjoint(self.looked)):
            return False
        if files and self.runs and any(run.path in files for run in self.runs):
            return False
        if done.files and not done.files.keys().isdisjoint(self.asked):
            return False
        return not (done.remotes and self.pushes)


class _Watched(dict[str, Any]):
    """Empty set of files that records lookups."""

    paths: tuple[str, ...] = ()

    def __contains__(self, path: object) -> bool:
        self.paths = (*self.paths, str(path))
        return False

    def get(self, path: str, otherwise: Any = None) -> Any:
        self.paths = (*self.paths, path)
        return otherwise


def is_short(argv: list[str], stdin: Stream | None) -> bool:
    """Return whether a command may be cached."""
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
    """Return the cached behavior; None if not even the program is known.

    The cache depends only on the arguments. Other state that rules use, such as written files, is
    recorded with the entry (`Known.holds`); functions and variables of the script, and given files,
    bypass the cache.
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
        (*files.paths, *looked_at(call, word)),
        name in READERS and may_name_written(call),
        secrets.paths,
        name in git_publication.RULES,
    )


def looked_at(call: CommandCall, word: str) -> tuple[str, ...]:
    """Return the files whose text matters if the script wrote it: the program, and operands of
    interpreters.
    """
    program = (call.at(word),) if "/" in word else ()
    return (*program, *map(call.at, call.args)) if call.name in READERS else program
