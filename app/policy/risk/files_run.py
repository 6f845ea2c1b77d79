"""Assessment of the files that a command runs, if their content is given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from app.policy.risk.call import UNKNOWN, Answer, CommandCall, RuleMatch, ask, resolve
from app.policy.risk.control import ControlFlow
from app.policy.risk.copies import Copies
from app.policy.risk.given import HANDED_IN, OF_PARTS, answers_of
from app.policy.risk.kinds import PROGRAM
from app.policy.risk.model import FileRun, Given
from app.policy.risk.runs import FROM_INPUT, may_run_files, runs_of
from app.policy.risk.scope import ShellScope

MAX_RUNS = 300
MAX_CHARACTERS = 200_000
"""Maximum characters of a script's own files that are assessed."""
_MOST_WITHIN = 5
_NOT_JUDGED = frozenset(["unread_file", "unreadable", "opaque_code", "too_long", "nested"])
"""Codes of findings for unreadable content, reported once."""


class FilesRun(ControlFlow):
    """Records files that are run, and assesses known ones. A subclass assesses text."""

    def __init__(self, home: str, given: Sequence[Given] = ()) -> None:
        super().__init__(home)
        self.runs: dict[FileRun, None] = {}
        self.judged: dict[tuple[str, str], None] = {}
        self.copies = Copies()
        self._characters = 0
        self._noted: set[tuple[str | None, str]] = set()
        self._given: dict[str, list[Given]] = {}
        for one in given:
            self._given.setdefault(one.by, []).append(one)
        self._texts = {one.text: one.path for one in given if one.is_data and one.text}

    def answer(self, answer: Answer, index: int | None, scope: ShellScope) -> None:
        raise NotImplementedError

    def judge_files(self, call: CommandCall, word: str, scope: ShellScope, index: int) -> set[str]:
        """Assess the given files that `call` runs; return their paths."""
        judged: set[str] = set()
        if not may_run_files(word):
            return judged
        if call.stdin and call.stdin.text in self._texts and call.name in FROM_INPUT:
            # Assessed as the file itself, with its name.
            call.stdin = call.stdin._replace(text=None, file=self._texts[call.stdin.text])
        if call.name == "git" and not self._given and self._is_noted(call):
            return judged
        named = (run for how in runs_of(call, word) for run in self._places(how, call.cwd))
        for how in named:
            self.looks_at(how)
            for given in self._given.get(how.path, ()):
                if (
                    how.kind not in HANDED_IN
                    and scope.files.get(given.path, given.text) == given.text
                ):
                    judged.add(given.path)
                    self._judge_file(call, how, given, scope, index)
        return judged

    def _places(self, how: FileRun, cwd: str | None) -> Iterator[FileRun]:
        """Yield possible locations: next to the naming script, or in the working directory."""
        if UNKNOWN not in how.path:
            yield how
            return
        rest = how.path.rpartition(UNKNOWN)[2]
        if rest[:1] == "/" and len(rest) > 1:
            beside = [origin.path.rpartition("/")[0] for origin in self.origins[-1:]]
            for place in dict.fromkeys([*beside, cwd]):
                if place is not None:
                    yield FileRun(resolve(place + rest, None, self.home), how.kind)

    def _is_noted(self, call: CommandCall) -> bool:
        """Return whether the same git subcommand was seen in the same folder before."""
        verb = call.args[0] if call.args else ""
        if verb[:1] == "-":
            return False
        before = len(self._noted)
        self._noted.add((call.cwd, verb))
        return len(self._noted) == before

    def looks_at(self, how: FileRun) -> None:
        """Record a file that determines a command."""
        if UNKNOWN not in how.path and how not in self.runs:
            if len(self.runs) >= MAX_RUNS:
                self.found(ask("too_long", f"runs or reads more than {MAX_RUNS} files"), None)
                return
            self.runs[how] = None
        if how.kind in HANDED_IN:
            for given in self._given.get(how.path, ()):
                self.judged[given.path, given.digest] = None

    def _judge_file(
        self, call: CommandCall, how: FileRun, given: Given, scope: ShellScope, index: int
    ) -> None:
        # A script of `package.json` may run another one of the same file.
        within = sum([given.path == outer.path for outer in self.origins])
        if within >= (_MOST_WITHIN if how.kind in OF_PARTS else 1):
            return
        self.judged[given.path, given.digest] = None
        self._judge_text(call, how, given, scope, index)

    def _judge_text(
        self, call: CommandCall, how: FileRun, given: Given, scope: ShellScope, index: int
    ) -> None:
        before, self.origins = self.origins, (*self.origins, given)
        for answer in answers_of(call, how, given):
            self.answer(answer, index, scope)
        self.origins = before

    def judge_written(
        self, call: CommandCall, word: str, scope: ShellScope, index: int, looked: Collection[str]
    ) -> None:
        """Assess the files that `call` runs and that this script wrote before.

        Args:
            looked: files that are assessed otherwise.
        """
        if not may_run_files(word):
            return
        for how in runs_of(call, word):
            path = how.path
            if how.kind in HANDED_IN or any(outer.path == path for outer in self.origins):
                continue
            texts = dict.fromkeys(self.copies.texts_of(path)) if self.copies else {}
            if path in scope.files:
                texts.pop(scope.files[path], None)
                if path not in looked:
                    texts[scope.files[path]] = None
            for text in texts:
                # If its content is unknown and the command does not name it, there is no question.
                if text is not None or path in map(call.at, (word, *call.args)):
                    self._judge_own(call, how, text, scope, index)

    def judge_programs(self, call: CommandCall, word: str, scope: ShellScope, index: int) -> None:
        """Assess written files named `word`, which is a program of a search path of the script."""
        for path, text in tuple(scope.files.items()):
            if path.rpartition("/")[2] == word and all(each.path != path for each in self.origins):
                self._judge_own(call, FileRun(path, PROGRAM), text, scope, index)

    def affords(self, text: str | None, index: int | None) -> bool:
        """Return whether a text that the script wrote may be assessed (again); ask if not."""
        self._characters += len(text or "")
        if self._characters <= MAX_CHARACTERS:
            return True
        self.found(ask("too_long", "runs files that it writes too often"), index)
        return False

    def _judge_own(
        self, call: CommandCall, how: FileRun, text: str | None, scope: ShellScope, index: int
    ) -> None:
        if not self.affords(text, index):
            return
        given = Given(how.path, how.path, text, "", why="is not known before it runs")
        self._judge_text(call, how, given, scope, index)

    def found(self, hit: RuleMatch, segment: int | None) -> None:
        if self.origins:
            origin = self.origins[-1]
            if hit.vague or (origin.accepted and hit.code in _NOT_JUDGED):
                return
            if not hit.named:
                hit = hit._replace(why=f"{hit.why} (in {origin.path})")
        super().found(hit, segment)
