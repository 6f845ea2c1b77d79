"""Walk of pipelines, lists, branches, loops and functions, with the state between commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.policy.risk import effects
from app.policy.risk.call import SECRET, UNKNOWN, CommandCall, Flow, Stream, ask, deny, resolve
from app.policy.risk.collected import Collected
from app.policy.risk.definitions import CALLED_BY_SHELLS, Definitions
from app.policy.risk.expand import Expander
from app.policy.risk.scope import ShellScope, certain_words
from app.policy.risk.secrets import ALL_OF, held
from app.policy.risk.syntax import (
    ARGUMENTS,
    AndOr,
    Branches,
    Function,
    Group,
    Node,
    Part,
    Pipeline,
    Proc,
    Redirect,
    Script,
    Simple,
    Unreadable,
    assigned_names,
    self_calls,
)

MAX_TURNS = 24
MAX_REPEATS = 100
MAX_COMPARED = 20_000
_RUNS_HERE = frozenset(["eval", "command", "builtin", "exec"])
_OWN = frozenset([ARGUMENTS])
"""Names that a function sets locally."""
SILENT = Stream("")
UNSEEN = Stream(None)


class ControlFlow(Collected):
    """Control flow between commands. A subclass handles single commands."""

    def __init__(self, home: str) -> None:
        super().__init__(home)
        self.turns = 0
        self.repeats = 0
        self.running: set[str] = set()
        self.definitions = Definitions()
        self.handlers: dict[str, ShellScope] = {}
        self.flow = Flow()
        # The secret that `>(…)` in the words of this command receives.
        self.fed = ""
        # Number of readers of what the commands write now.
        self.consumed = 0

    def simple(self, node: Simple, scope: ShellScope, stdin: Stream | None) -> Stream:
        raise NotImplementedError

    def redirects(
        self, redirects: Sequence[Redirect], scope: ShellScope, stdin: Stream | None
    ) -> tuple[Stream | None, list[tuple[str, str]]]:
        """Check redirected output; return the command's input, and operators with files."""
        raise NotImplementedError

    def into_files(self, files: list[tuple[str, str]], scope: ShellScope, output: Stream) -> Stream:
        """Record a command's output in files; return the remaining output."""
        raise NotImplementedError

    def arithmetic(self, parts: Sequence[Part], scope: ShellScope) -> None:
        raise NotImplementedError

    def script(self, script: Script, scope: ShellScope, stdin: Stream | None = None) -> Stream:
        if len(script.items) == 1:
            return self.node(script.items[0], scope, stdin)
        return _joined([self.node(item, scope, stdin) for item in script.items])

    def node(self, node: Node, scope: ShellScope, stdin: Stream | None = None) -> Stream:
        match node:
            case Simple():
                return self.simple(node, scope, stdin)
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

    def substitute(self, body: Script, scope: ShellScope) -> str:
        self.consumed += 1
        if len(body.items) == 1 and _leaves_no_trace(body.items[0], scope):
            output = self.script(body, scope)
        else:
            inner = scope.copy()
            output = self.script(body, inner)
            scope.files.update(inner.files)
        self.consumed -= 1
        if output.secret:
            return SECRET
        if _shows_a_file(body):
            return UNKNOWN
        return (output.text or UNKNOWN).rstrip("\n")

    def process(self, part: Proc, scope: ShellScope) -> str:
        inner = scope.copy()
        self.consumed += part.reads
        fed = Stream(None, secret=self.fed)
        output = self.script(part.script, inner, None if part.reads else fed)
        self.consumed -= part.reads
        scope.files.update(inner.files)
        path = f"/dev/fd/{63 + len(scope.files)}"
        scope.files[path] = output.text if part.reads else None
        if part.reads and output.secret:
            self.flow.files[path] = output.secret
        return path

    def _pipeline(self, node: Pipeline, scope: ShellScope, stdin: Stream | None) -> Stream:
        flow = stdin
        last = len(node.commands) - 1
        for at, command in enumerate(node.commands):
            self.consumed += at < last
            if _leaves_no_trace(command, scope):
                flow = self.node(command, scope, flow)
            else:
                inner = scope.copy()
                flow = self.node(command, inner, flow)
                scope.files.update(inner.files)
            self.consumed -= at < last
        return flow or UNSEEN

    def _and_or(self, node: AndOr, scope: ShellScope, stdin: Stream | None) -> Stream:
        names = assigned_names(*node.items[1:])
        files, earlier = scope.files.copy(), scope.cwd
        skipped: list[str | None] = []
        outputs = [self.node(node.items[0], scope, stdin)]
        for name in names:
            scope.record(name, scope.variables.get(name))
        for at, item in enumerate(node.items[1:], start=1):
            before = scope.cwd
            written = self._files_before(scope, node) if at in node.otherwise else None
            outputs.append(self.node(item, scope, stdin))
            if written is not None:
                scope.may_be_in([before])
                scope.may_write(written)
            elif before == earlier:
                skipped.append(before)
            earlier = before
        # Commands after the list also run if a part of it did not. A failing `cd` is not
        # considered.
        scope.may_be_in(skipped)
        scope.may_write(files)
        scope.forget(names)
        return _joined(outputs)

    def _files_before(self, scope: ShellScope, node: AndOr) -> dict[str, str | None]:
        if len(scope.files) * len(node.otherwise) > MAX_COMPARED:
            raise Unreadable("a command list writes too many files")
        return scope.files.copy()

    def _group(self, node: Group, scope: ShellScope, stdin: Stream | None) -> Stream:
        inner = scope.copy() if node.subshell else scope
        stdin, files = self.redirects(node.redirects, inner, stdin)
        self.consumed += bool(files)
        output = self.script(node.body, inner, stdin)
        self.consumed -= bool(files)
        scope.files.update(inner.files)
        return self.into_files(files, scope, output)

    def _branches(self, node: Branches, scope: ShellScope, stdin: Stream | None) -> Stream:
        expander = Expander(scope, self)
        for word in node.words:
            if node.arithmetic:
                self.arithmetic(word, scope)
            else:
                expander.fields(word)
        stdin, files = self.redirects(node.redirects, scope, stdin)
        names = assigned_names(node)
        if node.loop:
            scope.forget(names)
        before = scope.traces() if node.loop else None
        outputs: list[Stream] = []
        self.consumed += bool(files)
        for end in self._bodies(node, scope, stdin, names, outputs):
            scope.join(end)
        self.consumed -= bool(files)
        if before is not None and scope.traces() != before:
            self._again(node, scope, stdin, names)
        scope.forget(names)
        return self.into_files(files, scope, Stream(None, secret=_secret_in(outputs)))

    def _again(
        self, node: Branches, scope: ShellScope, stdin: Stream | None, names: frozenset[str]
    ) -> None:
        """Start the next turn of a loop in the state where the previous ended."""
        self.repeats += 1
        if self.repeats > MAX_REPEATS:
            raise Unreadable("nested loops whose iterations depend on each other")
        inner = scope.copy()
        self.tentatively(lambda: self._bodies(node, inner, stdin, names, []))

    def _bodies(
        self,
        node: Branches,
        scope: ShellScope,
        stdin: Stream | None,
        names: frozenset[str],
        outputs: list[Stream],
    ) -> list[ShellScope]:
        """Walk bodies that may run; return their possible end states. Tests run before all that
        follows.

        Output of the bodies goes to `outputs`.
        """
        ends: list[ShellScope] = []
        for values in self._turns(node, scope):
            for at, body in enumerate(node.bodies):
                if node.is_test(at):
                    if at:
                        ends.append(scope.copy())
                    self.script(body, scope, stdin)
                    inner = scope
                else:
                    start = scope
                    if at - 1 in node.falls:
                        start = scope.copy()
                        start.join(ends[-1])
                    inner = self._body(body, start, stdin, values, outputs)
                    ends.append(inner)
                    scope.merge(inner)
                for name in names:
                    scope.record(name, inner.variables.get(name))
        return ends

    def _turns(self, node: Branches, scope: ShellScope) -> list[dict[str, str]]:
        """Return the values of a `for` variable, one turn each, if they are few and all known."""
        if node.variable is None or node.variable in scope.poisoned:
            return [{}]
        expander = Expander(scope, self)
        values = [value for word in node.words for value in expander.fields(word)]
        self.turns += len(values)
        if any(SECRET in value or self._names_secrets(value, scope) for value in values):
            return [{node.variable: SECRET}]
        known = not any(UNKNOWN in value or set(value) & set("*?[") for value in values)
        if not values or not known or self.turns > MAX_TURNS:
            return [{}]
        return [{node.variable: value} for value in values]

    def _names_secrets(self, value: str, scope: ShellScope) -> bool:
        """Return whether a word refers to files with secrets: `~/.ssh/*`."""
        if "*" not in value:
            return False
        found = held(resolve(value, scope.cwd, scope.home), scope.home)
        return bool(found) and not found.startswith(ALL_OF)

    def _body(
        self,
        body: Script,
        scope: ShellScope,
        stdin: Stream | None,
        values: dict[str, str],
        outputs: list[Stream],
    ) -> ShellScope:
        inner = scope.copy()
        if values:
            inner.variables.update(values)
        outputs.append(self.script(body, inner, stdin))
        return inner

    def _function(self, node: Function, scope: ShellScope) -> Stream:
        calls = self_calls(node.body, node.name, piped=False)
        if self_calls(node.body, node.name, piped=True) >= 2:
            self.found(deny("fork_bomb", "a function that pipes itself into itself"), None)
        elif calls >= 2:
            self.found(ask("recursion", "a function that calls itself more than once"), None)
        names = assigned_names(node.body) - _OWN
        inner = scope.child()
        # Variables set by the body are certain inside it, and uncertain elsewhere.
        inner.poisoned = scope.poisoned - names
        if not self.definitions.waits(node, inner, contained=self.contained, origins=self.origins):
            self.node(node.body, inner)
            self._leaves(inner, names, scope)
            scope.may_write(inner.files)
        scope.poisoned |= names
        scope.functions[node.name] = node.body
        if node.name in CALLED_BY_SHELLS:
            self.handlers[node.name] = scope
        return SILENT

    def _leaves(self, inner: ShellScope, names: frozenset[str], scope: ShellScope) -> None:
        """Return a function body's effects outside it."""
        scope.poisoned |= inner.poisoned
        for name in names:
            scope.record(name, inner.variables.get(name))

    def called(self, call: CommandCall, body: Node, scope: ShellScope) -> tuple[bool, Stream]:
        """Walk a function with the words and variables of this call; return whether they
        determine it, and its output.
        """
        if call.name in self.running:
            self.definitions.doubt(body)
            return False, UNSEEN
        names = assigned_names(body) - _OWN
        inner = scope.copy()
        inner.list_words(ARGUMENTS, call.args)
        inner.given = None if scope.guess else certain_words(call.args)
        inner.poisoned = scope.poisoned - names
        outputs: list[Stream] = []
        self.running.add(call.name)
        certain = self.definitions.called(body, certain=inner.given is not None)
        if certain:
            # Calls of this and other functions may have set them before.
            inner.forget(names)
            outputs.append(self.node(body, inner, call.stdin))
            self.kept += 1
        else:
            certain = call.stdin is not None and call.stdin.text is not None and not scope.guess
            self.tentatively(
                lambda: outputs.append(self.node(body, inner, call.stdin)), certain=certain
            )
        self.running.discard(call.name)
        self._leaves(inner, names, scope)
        scope.files.update(inner.files)
        scope.aliases.update(inner.aliases)
        scope.merge(replace(inner, lists={}, functions={}))
        scope.cwd, scope.places = inner.cwd, inner.places
        return certain, Stream(None, secret=_secret_in(outputs))

    def judge_alone(self) -> None:
        """Assess functions whose deciding calls were never found."""
        while left := self.definitions.left():
            for waiting in left:
                self.contained, self.origins = waiting.contained, waiting.origins
                self.node(waiting.node.body, waiting.scope)
        self.contained, self.origins = False, ()


def _shows_a_file(body: Script) -> bool:
    """`$(<file)`."""
    node = body.items[0] if len(body.items) == 1 else None
    return (
        isinstance(node, Simple)
        and not node.words
        and any(redirect.op == "<" for redirect in node.redirects)
    )


def _leaves_no_trace(node: Node, scope: ShellScope) -> bool:
    """Return whether the scope is unchanged by `node`, so that a subprocess need not copy it."""
    return isinstance(node, Simple) and bool(node.plain) and is_traceless(node.plain[0], scope)


def is_traceless(word: str, scope: ShellScope) -> bool:
    return not (
        "/" in word
        or "\\" in word
        or word in effects.EFFECTIVE
        or word in _RUNS_HERE
        or word in scope.functions
        or word in scope.aliases
    )


def _secret_in(outputs: Sequence[Stream]) -> str:
    return next((output.secret for output in outputs if output.secret), "")


def _joined(outputs: list[Stream]) -> Stream:
    if len(outputs) == 1:
        return outputs[0]
    texts = [output.text for output in outputs]
    secret = _secret_in(outputs)
    text = None if None in texts else "".join(text or "" for text in texts)
    return Stream(text, secret=secret) if text is not None or secret else UNSEEN
