"""Walk of a script like a shell, which collects the rules' answers about each command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import partial

from app.policy.risk import effects, flow, fold, windows
from app.policy.risk.answers import judged
from app.policy.risk.call import (
    UNKNOWN,
    Answer,
    CommandCall,
    Payload,
    RuleMatch,
    Stream,
    ask,
    deny,
)
from app.policy.risk.carriers import FILLING
from app.policy.risk.command import (
    READERS,
    may_run_written,
    program_name,
    read_operands,
    unresolved,
    written_operands,
)
from app.policy.risk.control import SILENT, UNSEEN
from app.policy.risk.expand import Expander
from app.policy.risk.known import Known, is_short, known, looked_at
from app.policy.risk.model import Given, RiskLevel
from app.policy.risk.parse import parse
from app.policy.risk.payloads import Payloads
from app.policy.risk.possible_values import Possible, names_in, possible, written_by
from app.policy.risk.redirections import runs_a_reader
from app.policy.risk.registry import RULES, WRAPPING
from app.policy.risk.rules.environment import assignment
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Assign, Part, Simple, Unreadable

MAX_WINDOWS = 24_000
MAX_PLACES = 8
"""Maximum number of working directories in which a trap is assessed."""

_FORK_BOMB = re.compile(r"([\w:.]{1,40})\s?\(\s?\)\s?\{\s?\1\s?\|\s?\1\s?&\s?\}")
_RUNS_WRITTEN = ask("opaque_code", "may run a file that the same command writes")
_NO_VALUES: dict[str, str] = {}
_ANY_TIME = frozenset(["DEBUG", "ERR", "RETURN"])


class Assessor(Payloads):
    """One assessment: walks the commands and collects findings."""

    def __init__(self, home: str, given: Sequence[Given] = ()) -> None:
        super().__init__(home, given)
        self.guessed: set[tuple[object, ...]] = set()
        self.traps: dict[str, tuple[Given, ...]] = {}

    def finish(self, scope: ShellScope) -> None:
        """Assess deferred commands; `scope` is the state at the end of the script."""
        texts = [text for text in self.traps if UNKNOWN not in text]
        met = [segment.cwd for segment in self.segments] if texts else []
        places = list(dict.fromkeys([scope.cwd, *met]))[:MAX_PLACES]
        for text in texts:
            self.origins = self.traps[text]
            for place in places:
                inner = scope.copy()
                inner.be_in([place])
                self.tentatively(partial(self.text, text, inner, "bash"))
        self.origins = ()
        for name, at in self.handlers.items():
            inner = at.copy()
            inner.given = None
            self.tentatively(partial(self.argv, [name, UNKNOWN], inner, None))
        self.judge_alone()

    def _trap(self, args: list[str], scope: ShellScope) -> None:
        """Handle a trap: `args[0]` runs in this shell at its end, or after any later command."""
        if not args or self.contained:
            return
        self.traps[args[0]] = self.origins
        if not _ANY_TIME.isdisjoint(args):
            inner = scope.copy()
            self.tentatively(partial(self.text, args[0], inner, "bash"))
            scope.join(inner)

    def text(self, text: str, scope: ShellScope, shell: str, stdin: Stream | None = None) -> Stream:
        """Assess a whole script; an unparsable one asks."""
        if shell in {"powershell", "cmd"}:
            if len(text) > MAX_WINDOWS:
                self.found(ask("too_long", f"longer than {MAX_WINDOWS} characters"), None)
                return UNSEEN
            for argv, answer in windows.assess(text, scope.cwd, scope.home, cmd=shell == "cmd"):
                self._windows(argv, answer, scope)
            return UNSEEN
        try:
            tree = parse(text)
        except Unreadable as reason:
            bomb = _FORK_BOMB.search(text)
            hit = deny("fork_bomb", "a fork bomb") if bomb else ask("unreadable", str(reason))
            self.found(hit, None)
            return UNSEEN
        return self.script(tree, scope, stdin)

    def _windows(self, argv: list[str], answer: Answer | None, scope: ShellScope) -> None:
        index = self._last()
        if argv:
            name, word = program_name(argv[0]), argv[0].replace("\\", "/")
            call = CommandCall(name, argv[1:], scope.cwd, scope.home)
            index = self.segment(argv, scope)
            self.judge_files(call, word, scope, index)
        if answer is not None:
            self._answer(answer, index, scope)

    def _subscripts(self, texts: list[str]) -> None:
        """Assess arithmetic, which evaluates array subscripts even in plain text."""
        if any("$(" in text or "`" in text for text in texts):
            self.found(ask("arithmetic_code", "arithmetic would run the command in its text"), None)

    def arithmetic(self, parts: Sequence[Part], scope: ShellScope) -> None:
        text = Expander(scope, self).text(parts)
        # A name in arithmetic is evaluated recursively.
        names = [*re.findall(r"[A-Za-z_]\w*", text[:1000]), *names_in(parts)]
        held = [value for name in names for value in scope.possible(name)]
        self._subscripts([text, *map(scope.lookup, names), *held])

    def simple(self, node: Simple, scope: ShellScope, stdin: Stream | None) -> Stream:
        if node.plain:
            if scope.places:
                self._anywhere(node, list(node.plain), scope, stdin)
            return self.argv(list(node.plain), scope, stdin)
        expander, given = Expander(scope, self), stdin
        values = _NO_VALUES
        if node.assigns:
            values = {assign.name: self._assigned(assign, expander) for assign in node.assigns}
        self.fed = self._fed(node, scope) or (stdin.secret if stdin is not None else "")
        argv = [field for word in node.words for field in expander.fields(word)]
        if argv and any(map(runs_a_reader, node.redirects)):
            self.fed = flow.printed(
                CommandCall(program_name(argv[0]), argv[1:], scope.cwd, scope.home, stdin)
            )
        stdin, files = self.redirects(node.redirects, scope, stdin)
        self._assignments(values, scope)
        if scope.maybe or scope.lists or scope.poisoned:
            self._guess(node, argv, scope, stdin)
        if values and (not argv or argv[0] in effects.DECLARING):
            values = self._declared(argv, values, scope) if argv else values
            scope.variables.update(values)
        if scope.places:
            self._anywhere(node, argv, scope, stdin, values)
        if argv == ["exec"] and stdin is not given:
            scope.stdin = stdin
        shown = stdin if stdin is not None and stdin.secret else SILENT
        # Without a command word, as in `$(<file)`, the output is the file itself.
        self.consumed += bool(files)
        output = self.argv(argv, scope, stdin, values) if argv else shown
        self.consumed -= bool(files)
        return self.into_files(files, scope, output) if files else output

    def _declared(
        self, argv: list[str], values: dict[str, str], scope: ShellScope
    ) -> dict[str, str]:
        """Return `values` as changed by the options of `declare` and similar commands."""
        flags = {char for word in argv[1:3] if word.startswith(("-", "+")) for char in word}
        if not flags.isdisjoint("ni"):
            self._subscripts(list(values.values()))
        if "n" in flags and argv[0] != "export":
            # One becomes another name for the other from now on.
            scope.poisoned |= {*values, *values.values()}
        return values if flags.isdisjoint("nliuc") else dict.fromkeys(values, UNKNOWN)

    def _assignments(self, values: dict[str, str], scope: ShellScope) -> None:
        for name, value in values.items():
            for answer in assignment(name, value):
                self._answer(answer, None, scope)

    def _guess(
        self, node: Simple, argv: list[str], scope: ShellScope, stdin: Stream | None
    ) -> None:
        for other in possible(node, scope):
            words = (tuple(other.argv), tuple(other.targets), tuple(other.values.items()))
            key = (*words, scope.cwd, stdin, self.contained)
            if key not in self.guessed:
                self.guessed.add(key)
                if other.argv != argv or other.targets or other.values:
                    self.tentatively(partial(self._possible, other, argv, stdin))
            for name, value in other.values.items():
                scope.record(name, value)

    def _anywhere(
        self,
        node: Simple,
        argv: list[str],
        scope: ShellScope,
        stdin: Stream | None,
        values: dict[str, str] = _NO_VALUES,
    ) -> None:
        """Assess the same command in the other possible directories."""
        targets = written_by(node, scope) if node.redirects else []
        for place in scope.places:
            inner = scope.copy()
            inner.be_in([place])
            self.tentatively(partial(self._with, argv, targets, inner, stdin, values))

    def _with(
        self,
        argv: list[str],
        targets: Sequence[str],
        scope: ShellScope,
        stdin: Stream | None,
        values: dict[str, str],
    ) -> None:
        for target in targets:
            self.writes(target, scope)
        if argv:
            self.argv(argv, scope, stdin, values)

    def _possible(self, other: Possible, argv: list[str], stdin: Stream | None) -> None:
        """Assess the same command with possible values of its variables."""
        self._assignments(other.values, other.scope)
        words = other.argv if other.argv != argv else []
        self._with(words, other.targets, other.scope, stdin, other.values)

    def _assigned(self, assign: Assign, expander: Expander) -> str:
        if assign.subscript:
            self._subscripts([expander.text(assign.subscript)])
        if assign.array is not None:
            words = [field for word in assign.array for field in expander.fields(word)]
            before = expander.scope.lists.get(assign.name, ()) if assign.append else ()
            expander.scope.list_words(assign.name, [*before, *words])
            return UNKNOWN
        value = expander.text(assign.value)
        return expander.scope.lookup(assign.name) + value if assign.append else value

    def argv(
        self,
        argv: list[str],
        scope: ShellScope,
        stdin: Stream | None,
        assigned: dict[str, str] | None = None,
    ) -> Stream:
        """Assess one command given by its words."""
        given = stdin if stdin is not None else scope.stdin
        found = None if assigned else self._known(argv, scope, given)
        if found is None:
            return self._by_what_was_done(argv, scope, given, assigned or _NO_VALUES)
        index = self.segment(argv, scope, found.met)
        for how in found.runs:
            for place in self._places(how, scope.cwd):
                self.looks_at(place)
        output, shown = self._answered(found.answers, index, scope)
        if found.met is None and len(self.segments) > index + 1:
            self.segments[index].wraps = True
        call = None
        if found.has_effects or found.may_fill or shown or self.consumed:
            name = found.name if given is None else found.judged_as
            call = self._call(name, argv, scope, given)
        if call is not None and found.has_effects:
            self.copies.note(call)
            self._leaves_behind(call, scope)
        if found.shows is not None and not self.consumed:
            self.found(found.shows, index)
        folded = found.output
        if folded.text is None and not folded.listed:
            folded = output or UNSEEN
        if call is None or not (shown or self.consumed or found.may_fill):
            return folded
        return flow.follow(call, folded, reads_secret=shown, consumed=self.consumed > 0)

    def _known(self, argv: list[str], scope: ShellScope, stdin: Stream | None) -> Known | None:
        """Return the cached behavior of `argv` by its words alone; None if the script matters
        too.
        """
        if self._given or not is_short(argv, stdin) or argv[0] in scope.aliases:
            return None
        own, outside = scope.functions, self.outside
        if own or outside:
            name = program_name(argv[0])
            if name in own or (outside and self.definitions.holds(name)):
                return None
        if self.own_programs and scope.files:
            return None
        found = known(tuple(argv), scope.cwd, scope.home, stdin, contained=self.contained)
        if found is None or not found.holds(scope.files, self.flow):
            return None
        if self.copies and any(self.copies.texts_of(how.path) for how in found.runs):
            return None
        return found

    def _call(
        self,
        name: str,
        argv: list[str],
        scope: ShellScope,
        stdin: Stream | None,
        assigned: dict[str, str] = _NO_VALUES,
    ) -> CommandCall:
        return CommandCall(
            name,
            argv[1:],
            scope.cwd,
            scope.home,
            stdin,
            self.contained,
            assigned,
            scope.files,
            self.flow,
        )

    def _answered(
        self, answers: Sequence[Answer], index: int, scope: ShellScope
    ) -> tuple[Stream | None, bool]:
        """Add the rules' answers; return the output of commands among them, and whether a secret
        is shown.
        """
        output, shown = None, False
        for answer in answers:
            if type(answer) is RuleMatch:
                self.found(answer, index)
                shown = shown or answer.code == "secret_read"
            else:
                output = self._answer(answer, index, scope) or output
        return output, shown

    def _by_what_was_done(
        self, argv: list[str], scope: ShellScope, stdin: Stream | None, assigned: dict[str, str]
    ) -> Stream:
        """Assess a command for which files, functions or variables of the script matter."""
        index = self.segment(argv, scope)
        word = argv[0]
        if hit := unresolved(word):
            return self._unresolved(hit, argv, scope, index)
        name = program_name(word)
        call = self._call(name, argv, scope, stdin, assigned)
        taken = written_operands(call, scope.files) if name in READERS and scope.files else ()
        output, judged = self._own(call, argv, scope, index, taken)
        files = scope.files
        if judged and not judged.isdisjoint(files):
            files = {path: text for path, text in files.items() if path not in judged}
        self.copies.note(call)  # before interpreters take their program from the words
        answers = self._answers(call, word, scope, index, files)
        written, shown = self._answered(answers, index, scope)
        output = written or output
        if name in WRAPPING and len(self.segments) > index + 1:
            self.segments[index].wraps = True
        if name in effects.EFFECTIVE:
            self._leaves_behind(call, scope)
        folded = fold.output(call) if name in fold.FOLDED else UNSEEN
        if folded.text is None and not folded.listed:
            folded = output or UNSEEN
        if not self.consumed and name in flow.SHOWING and (secret := flow.shown(call)):
            self.found(ask("secret_read", f"{name} shows {secret}", RiskLevel.MEDIUM), index)
        if shown or self.consumed or name in FILLING:
            return flow.follow(call, folded, reads_secret=shown, consumed=self.consumed > 0)
        return folded

    def _leaves_behind(self, call: CommandCall, scope: ShellScope) -> None:
        effects.apply(call, scope)
        if call.name in effects.MOVING:
            for path in effects.moved_over(call):
                self.empties(path)
        if call.name == "trap":
            self._trap(call.args, scope)

    def _own(
        self,
        call: CommandCall,
        argv: list[str],
        scope: ShellScope,
        index: int,
        taken: Sequence[int],
    ) -> tuple[Stream | None, set[str]]:
        """Assess code that the script itself defined for the command, and files that it runs.

        Returns:
            Its output, and the paths of given files that were assessed.
        """
        word, output = argv[0], None
        if scope.functions or scope.aliases or self.outside:
            output = self._meant(call, argv, scope, index)
        judged = self.judge_files(call, word, scope, index)
        if scope.files or self.copies:
            if "/" in word and call.at(word) not in judged:
                output = self._written_script(call, word, scope, index) or output
            looked = judged.union(self._looked(call, argv, taken))
            self.judge_written(call, word, scope, index, looked)
            if self.own_programs and "/" not in word:
                self.judge_programs(call, word, scope, index)
        return output, judged

    def _looked(self, call: CommandCall, argv: list[str], taken: Sequence[int]) -> tuple[str, ...]:
        """Return the files whose text is assessed with `call` if the script wrote it."""
        if call.name in READERS:
            program = (call.at(argv[0]),) if "/" in argv[0] else ()
            return (*program, *(call.at(call.args[at]) for at in taken))
        if is_short(argv, call.stdin):
            found = known(tuple(argv), call.cwd, call.home, call.stdin, contained=self.contained)
            if found is not None:
                return found.looked
        return looked_at(call, argv[0])

    def _meant(
        self, call: CommandCall, argv: list[str], scope: ShellScope, index: int
    ) -> Stream | None:
        """Assess a redefinition of the command's name by the script; return its output."""
        word, output = argv[0], None
        if alias := scope.aliases.get(word):
            # Only some shells expand aliases: both interpretations apply.
            self._alias(alias, argv, scope, call.stdin)
        if body := scope.functions.get(call.name):
            self.segments[index].wraps, output = self.called(call, body, scope)
        elif self.outside:
            self.definitions.called_outside(call.name)
        return output

    def _answers(
        self,
        call: CommandCall,
        word: str,
        scope: ShellScope,
        index: int,
        files: dict[str, str | None],
    ) -> tuple[Answer, ...]:
        taken = written_operands(call, files) if files and call.name in READERS else ()
        if taken:
            call.stdin = read_operands(call, files, taken)
            if not self.affords(call.stdin.text, index):
                call.stdin = Stream(None)
        elif files and call.name in READERS and may_run_written(call, files):
            return (*judged(call), _RUNS_WRITTEN)
        if call.name in scope.functions and call.name not in RULES:
            return ()
        argv = [word, *call.args]
        if call.stdin is None and is_short(argv, None):
            found = known(tuple(argv), call.cwd, call.home, None, contained=call.contained)
            if found is not None and found.holds(files, self.flow):
                return found.answers
        return judged(call)

    def _unresolved(self, hit: RuleMatch, argv: list[str], scope: ShellScope, index: int) -> Stream:
        """Assess a command whose name is partly unknown; its end may identify the file."""
        self.found(hit, index)
        if "/" in argv[0]:
            call = CommandCall(program_name(argv[0]), argv[1:], scope.cwd, scope.home)
            self.judge_files(call, argv[0], scope, index)
        return UNSEEN

    def _alias(
        self, alias: str, argv: list[str], scope: ShellScope, stdin: Stream | None
    ) -> Stream:
        inner = scope.copy()
        inner.aliases.pop(argv[0], None)
        words = argv[1:]
        while alias[-1:].isspace() and words and (following := inner.aliases.get(words[0])):
            # After a trailing blank in an alias, the next word is expanded too.
            alias, words = alias + following, words[1:]
        output = self.text(f"{alias} {shlex.join(words)}", inner, "bash", stdin)
        scope.join(inner)
        return output

    def _written_script(
        self, call: CommandCall, word: str, scope: ShellScope, index: int
    ) -> Stream | None:
        if "/" not in word or call.at(word) not in scope.files:
            return None
        text = scope.files[call.at(word)]
        if not self.affords(text, index):
            return None
        return self._answer(Payload("shell", text=text), index, scope)

    def _last(self) -> int | None:
        return len(self.segments) - 1 if self.segments else None
