"""Walks a script as a shell would run it and collects what the rules say about each command."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import lru_cache

from app.policy.risk import effects, fold, integrity, windows
from app.policy.risk.call import UNKNOWN, Answer, Call, Hit, Payload, Stream, ask, deny
from app.policy.risk.code import assess_code
from app.policy.risk.expand import Expander, Scope
from app.policy.risk.model import (
    Finding,
    RiskLevel,
    RiskReport,
    Segment,
    ShellName,
    Verdict,
    worst_level,
    worst_verdict,
)
from app.policy.risk.parse import parse
from app.policy.risk.paths import reading, writing
from app.policy.risk.registry import RULES, WRAPPING
from app.policy.risk.rules.environment import assignment
from app.policy.risk.syntax import (
    AndOr,
    Assign,
    Branches,
    Function,
    Group,
    Lit,
    Node,
    Part,
    Pipeline,
    Proc,
    Redirect,
    Script,
    Simple,
    Unreadable,
    assigned_names,
)

MAX_BYTES = 64 * 1024
MAX_SEGMENTS = 3_000
MAX_NESTING = 16
_ANY_HOME = "/home/~"
"""Stands for a home directory whose place is not given."""

_FORK_BOMB = re.compile(r"([\w:.]{1,40})\s?\(\s?\)\s?\{\s?\1\s?\|\s?\1\s?&\s?\}")
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php|bash|zsh|ksh|tclsh)[\d.]+")
_OPAQUE = frozenset(
    {
        "arithmetic_code",
        "code_danger",
        "deferred",
        "git_config",
        "loaded_code",
        "lookalike",
        "nested",
        "opaque_code",
        "remote_shell",
        "too_long",
        "unreadable",
        "unresolved_command",
    }
)
"""Findings that say: what runs is not among the segments."""
_SILENT = Stream("")
_UNSEEN = Stream(None)


def assess_command(
    command: str, *, shell: ShellName = "bash", cwd: str = "/workspace", home: str | None = None
) -> RiskReport:
    """What `command` would do. Never raises.

    Asks for a command over `MAX_BYTES` (UTF-8), with more than `MAX_SEGMENTS` commands, and
    for everything that it cannot read. Without `home`, a home directory is still recognised
    by `~`, `$HOME` and its usual places.
    """
    assessor = Assessor(home or _ANY_HOME)
    for hit in integrity.findings(command):
        assessor.found(hit, None)
    if len(command.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        assessor.found(ask("too_long", f"longer than {MAX_BYTES} bytes"), None)
        return assessor.report()
    scope = Scope({"HOME": assessor.home, "IFS": " \t\n", "SHELL": "/bin/bash"}, cwd, assessor.home)
    try:
        assessor.text(command.replace("\r\n", "\n"), scope, shell)
    except Unreadable as reason:
        assessor.found(ask("unreadable", str(reason)), None)
    except RecursionError:
        assessor.found(ask("unreadable", "nested too deeply"), None)
    return assessor.report()


class Assessor:
    """One assessment: collects segments, findings and targets."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.segments: list[Segment] = []
        self.findings: list[Finding] = []
        self.targets: dict[str, None] = {}
        self.nesting = 0
        self.contained = False

    def report(self) -> RiskReport:
        return RiskReport(
            verdict=worst_verdict(finding.verdict for finding in self.findings),
            risk=worst_level(finding.level for finding in self.findings),
            segments=tuple(self.segments),
            findings=tuple(self.findings),
            resolved_targets=tuple(self.targets),
            opaque=any(finding.code in _OPAQUE for finding in self.findings),
        )

    def found(self, hit: Hit, segment: int | None) -> None:
        verdict, level = hit.verdict, hit.level
        if self.contained and verdict is Verdict.DENY:
            verdict, level = Verdict.ASK, RiskLevel.HIGH
        finding = Finding(hit.code, segment, hit.why.replace(_ANY_HOME, "~"), level, verdict)
        if finding not in self.findings[-8:]:
            self.findings.append(finding)
        self.targets.update((target.replace(_ANY_HOME, "~"), None) for target in hit.targets)

    def text(self, text: str, scope: Scope, shell: str, stdin: Stream | None = None) -> Stream:
        """Assess a whole script; an unreadable one asks."""
        if shell in {"powershell", "cmd"}:
            for argv, answer in windows.assess(text, scope.cwd, scope.home, cmd=shell == "cmd"):
                self._windows(argv, answer, scope)
            return _UNSEEN
        try:
            tree = parse(text)
        except Unreadable as reason:
            bomb = _FORK_BOMB.search(text)
            hit = deny("fork_bomb", "a fork bomb") if bomb else ask("unreadable", str(reason))
            self.found(hit, None)
            return _UNSEEN
        return self.script(tree, scope, stdin)

    def _windows(self, argv: tuple[str, ...], answer: Answer | None, scope: Scope) -> None:
        if argv:
            self._segment(list(argv), scope)
        if answer is not None:
            self._answer(answer, self._last(), scope)

    def script(self, script: Script, scope: Scope, stdin: Stream | None = None) -> Stream:
        outputs = [self.node(item, scope, stdin) for item in script.items]
        return _joined(outputs)

    def node(self, node: Node, scope: Scope, stdin: Stream | None = None) -> Stream:
        match node:
            case Simple():
                return self._simple(node, scope, stdin)
            case Pipeline():
                return self._pipeline(node, scope, stdin)
            case AndOr():
                return self._and_or(node, scope, stdin)
            case Group():
                return self._group(node, scope, stdin)
            case Branches():
                return self._branches(node, scope, stdin)
            case Function():
                return self._function(node, scope)

    def _pipeline(self, node: Pipeline, scope: Scope, stdin: Stream | None) -> Stream:
        flow = stdin
        for command in node.commands:
            inner = _copy(scope)
            flow = self.node(command, inner, flow)
            scope.files.update(inner.files)
        return flow or _UNSEEN

    def _and_or(self, node: AndOr, scope: Scope, stdin: Stream | None) -> Stream:
        outputs = [self.node(node.items[0], scope, stdin)]
        outputs.extend(self.node(item, scope, stdin) for item in node.items[1:])
        scope.forget(set().union(*(assigned_names(item) for item in node.items[1:])))
        return _joined(outputs) if all(output.text is not None for output in outputs) else _UNSEEN

    def _group(self, node: Group, scope: Scope, stdin: Stream | None) -> Stream:
        inner = _copy(scope) if node.subshell else scope
        stdin = self._redirects(node.redirects, inner, stdin)
        output = self.script(node.body, inner, stdin)
        scope.files.update(inner.files)
        return self._into_files(node.redirects, scope, output)

    def _branches(self, node: Branches, scope: Scope, stdin: Stream | None) -> Stream:
        expander = self._expander(scope)
        for word in node.words:
            values = expander.fields(word) if not node.arithmetic else [expander.text(word)]
            if node.arithmetic:
                self._subscripts(values)
        stdin = self._redirects(node.redirects, scope, stdin)
        names, cwd = assigned_names(node), scope.cwd
        if node.loop:
            scope.forget(names)
        for body in node.bodies:
            inner = _copy(scope)
            self.script(body, inner, stdin)
            scope.files.update(inner.files)
            scope.aliases.update(inner.aliases)
            cwd = cwd if inner.cwd == scope.cwd else None
        scope.forget(names)
        scope.cwd = cwd
        return self._into_files(node.redirects, scope, _UNSEEN)

    def _subscripts(self, texts: list[str]) -> None:
        """Arithmetic evaluates an array subscript, also one that arrives as plain text."""
        if any("$(" in text or "`" in text for text in texts):
            self.found(ask("arithmetic_code", "arithmetic would run the command in its text"), None)

    def _function(self, node: Function, scope: Scope) -> Stream:
        calls = _self_calls(node.body, node.name, piped=False)
        if _self_calls(node.body, node.name, piped=True) >= 2:
            self.found(deny("fork_bomb", "a function that pipes itself into itself"), None)
        elif calls >= 2:
            self.found(ask("recursion", "a function that calls itself more than once"), None)
        names = assigned_names(node.body)
        scope.poisoned |= names
        inner = _copy(scope)
        inner.variables = {
            key: scope.variables[key] for key in ("HOME", "IFS") if key in scope.variables
        }
        self.node(node.body, inner)
        return _SILENT

    def _expander(self, scope: Scope) -> Expander:
        def substitute(body: Script) -> str:
            return (self.script(body, _copy(scope)).text or UNKNOWN).rstrip("\n")

        def process(part: Proc) -> str:
            output = self.script(part.script, _copy(scope), None if part.reads else _UNSEEN)
            path = f"/dev/fd/{63 + len(scope.files)}"
            scope.files[path] = output.text if part.reads else None
            return path

        def arithmetic(parts: list[Part]) -> None:
            self._subscripts([Expander(scope, substitute, process, arithmetic).text(parts)])

        return Expander(scope, substitute, process, arithmetic)

    def _simple(self, node: Simple, scope: Scope, stdin: Stream | None) -> Stream:
        if node.plain:
            return self.argv(list(node.plain), scope, stdin)
        expander = self._expander(scope)
        values = {assign.name: self._assigned(assign, expander) for assign in node.assigns}
        argv = [field for word in node.words for field in expander.fields(word)]
        stdin = self._redirects(node.redirects, scope, stdin)
        for name, value in values.items():
            for answer in assignment(name, value):
                self._answer(answer, None, scope)
        if not argv or argv[0] in {"export", "declare", "typeset", "local", "readonly"}:
            if any(re.fullmatch(r"-\w*[nliuc]\w*", word) for word in argv[1:3]):
                values = dict.fromkeys(values, UNKNOWN)
            scope.variables.update(values)
        output = self.argv(argv, scope, stdin, values) if argv else _SILENT
        return self._into_files(node.redirects, scope, output)

    def _assigned(self, assign: Assign, expander: Expander) -> str:
        if assign.subscript:
            self._subscripts([expander.text(assign.subscript)])
        if assign.array is not None:
            for word in assign.array:
                expander.fields(word)
            return UNKNOWN
        value = expander.text(assign.value)
        return expander.scope.lookup(assign.name) + value if assign.append else value

    def argv(
        self,
        argv: list[str],
        scope: Scope,
        stdin: Stream | None,
        assigned: dict[str, str] | None = None,
    ) -> Stream:
        """Assess one command given by its words."""
        index = self._segment(argv, scope)
        word = argv[0]
        if hit := _unresolved(word):
            self.found(hit, index)
            return _UNSEEN
        name = (
            word.replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
            if "\\" in word
            else (word.rsplit("/", 1)[-1])
        )
        call = Call(name, argv[1:], scope.cwd, scope.home, stdin, self.contained, assigned or {})
        if alias := scope.aliases.get(word):
            # Only some shells expand aliases: both readings count.
            self._alias(alias, argv, scope, stdin)
        output = self._written_script(call, word, scope, index)
        for answer in self._answers(call, scope):
            output = self._answer(answer, index, scope) or output
        if name in WRAPPING and len(self.segments) > index + 1:
            self.segments[index] = replace(self.segments[index], wraps=True)
        effects.apply(call, scope)
        folded = fold.output(call)
        return folded if folded.text is not None else output or _UNSEEN

    def _answers(self, call: Call, scope: Scope) -> list[Answer]:
        files = scope.files
        if files and call.name in _READERS and any(call.at(arg) in files for arg in call.args):
            call.stdin = _file_operand(call, files)
        rules = RULES.get(call.name) or RULES.get(_plain_name(call.name), ())
        return [answer for rule in rules for answer in rule(call)]

    def _alias(self, alias: str, argv: list[str], scope: Scope, stdin: Stream | None) -> Stream:
        inner = _copy(scope)
        inner.aliases.pop(argv[0], None)
        return self.text(f"{alias} {shlex.join(argv[1:])}", inner, "bash", stdin)

    def _written_script(self, call: Call, word: str, scope: Scope, index: int) -> Stream | None:
        if "/" not in word or call.at(word) not in scope.files:
            return None
        payload = Payload("shell", text=scope.files[call.at(word)])
        return self._answer(payload, index, scope)

    def _answer(self, answer: Answer, index: int | None, scope: Scope) -> Stream | None:
        if isinstance(answer, Hit):
            self.found(answer, index)
            return None
        if self.nesting >= MAX_NESTING:
            self.found(ask("nested", "commands are wrapped too deeply"), index)
            return None
        self.nesting += 1
        contained, self.contained = self.contained, self.contained or answer.contained
        output = self._payload(answer, index, scope)
        self.contained = contained
        self.nesting -= 1
        return output

    def _payload(self, payload: Payload, index: int | None, scope: Scope) -> Stream | None:
        inner = scope if payload.here else _copy(scope)
        if payload.moves is not None:
            moved = Call("", [], scope.cwd, scope.home).at(payload.moves)
            inner.cwd = None if UNKNOWN in moved else moved
        if payload.kind == "argv":
            return self.argv(list(payload.argv), inner, payload.stdin) if payload.argv else None
        if payload.text is None:
            self.found(
                ask("opaque_code", f"runs {payload.kind} code that is not known here"), index
            )
            return None
        if payload.kind in {"shell", "powershell", "cmd"}:
            return self.text(payload.text, inner, payload.kind, payload.stdin)
        for answer in assess_code(payload.kind, payload.text):
            self._answer(answer, index, inner)
        return None

    def _segment(self, argv: list[str], scope: Scope) -> int:
        if len(self.segments) >= MAX_SEGMENTS:
            raise Unreadable(f"more than {MAX_SEGMENTS} commands")
        words = tuple(None if UNKNOWN in word else word.replace(_ANY_HOME, "~") for word in argv)
        text = " ".join("…" if word is None else _quoted(word) for word in words)
        self.segments.append(Segment(words, text, scope.cwd))
        return len(self.segments) - 1

    def _last(self) -> int | None:
        return len(self.segments) - 1 if self.segments else None

    def _redirects(
        self, redirects: list[Redirect], scope: Scope, stdin: Stream | None
    ) -> Stream | None:
        """Check where output goes; answer what the command reads."""
        expander = self._expander(scope) if redirects else None
        for redirect in redirects:
            assert expander is not None
            value = expander.text(redirect.target)
            if redirect.op in {"<<", "<<-", "<<<"}:
                newline = "\n" if redirect.op == "<<<" else ""
                stdin = Stream(None if UNKNOWN in value else value + newline)
                continue
            redirect.target = [Lit(value, quoted=True)]
            if redirect.op == "<":
                stdin = self._input(value, scope)
            elif not (redirect.op in {">&", "<&"} and re.fullmatch(r"\d*-?", value)):
                path = Call("", [], scope.cwd, scope.home).at(value)
                for hit in writing(path, scope.home):
                    self.found(hit, None)
        return stdin

    def _input(self, value: str, scope: Scope) -> Stream:
        path = Call("", [], scope.cwd, scope.home).at(value)
        for hit in reading(path, scope.home):
            self.found(hit, None)
        if path in scope.files:
            return Stream(scope.files[path])
        return Stream(None, file=path)

    def _into_files(self, redirects: list[Redirect], scope: Scope, output: Stream) -> Stream:
        for redirect in redirects:
            if redirect.op in {">", ">>", ">|", "&>", "&>>"} and isinstance(
                redirect.target[0], Lit
            ):
                path = Call("", [], scope.cwd, scope.home).at(redirect.target[0].text)
                before = scope.files.get(path, "") if ">>" in redirect.op else ""
                known = before is not None and output.text is not None
                scope.files[path] = f"{before}{output.text}" if known else None
                output = _SILENT
        return output


def _file_operand(call: Call, files: dict[str, str | None]) -> Stream:
    """For readers (`cat f`) and interpreters (`bash f`) of a file that this script wrote."""
    written = next(files[call.at(arg)] for arg in call.args if call.at(arg) in files)
    rest = [arg for arg in call.args if call.at(arg) not in files]
    call.args = [arg for arg in [_READERS[call.name], *rest] if arg]
    return Stream(written)


_READERS: dict[str, str] = {
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "ash", "mksh"), "-s"),
    **dict.fromkeys(("source", "."), "/dev/stdin"),
    **dict.fromkeys(("python", "python3", "node", "perl", "ruby", "lua", "php"), "-"),
    "cat": "",
}


@lru_cache(maxsize=4096)
def _quoted(word: str) -> str:
    return shlex.quote(word)


@lru_cache(maxsize=4096)
def _plain_name(name: str) -> str:
    """Lower case, without `.exe` and without the version of an interpreter."""
    lowered = name.lower().removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(lowered)
    return versioned.group(1) if versioned else lowered


def _unresolved(word: str) -> Hit | None:
    if UNKNOWN in word:
        return ask("unresolved_command", "the command to run is not known before it runs")
    if not word or (
        any(char in word for char in "*?") or ("[" in word and word not in {"[", "[["})
    ):
        return ask("unresolved_command", f"{word!r} is a pattern, not a command")
    if not word.isascii():
        return ask("lookalike", "the command's name holds characters outside ASCII")
    return None


def _joined(outputs: list[Stream]) -> Stream:
    if len(outputs) == 1:
        return outputs[0]
    texts = [output.text for output in outputs]
    return _UNSEEN if None in texts else Stream("".join(text or "" for text in texts))


def _copy(scope: Scope) -> Scope:
    return replace(
        scope,
        variables=dict(scope.variables),
        aliases=dict(scope.aliases),
        files=dict(scope.files),
    )


def _self_calls(node: Node | Script, name: str, *, piped: bool) -> int:
    match node:
        case Simple():
            first = node.words[0] if node.words else []
            word = node.plain[:1] or [part.text for part in first if isinstance(part, Lit)]
            return int(not piped and word == [name])
        case Pipeline():
            return max(sum(_self_calls(item, name, piped=False) for item in node.commands), 0)
        case AndOr() | Script():
            return sum(_self_calls(item, name, piped=piped) for item in node.items)
        case Group():
            return _self_calls(node.body, name, piped=piped)
        case Branches():
            return sum(_self_calls(body, name, piped=piped) for body in node.bodies)
        case Function():
            return 0
