"""Assessment of payloads: other commands, scripts, programs in other languages."""

from __future__ import annotations

from collections.abc import Sequence

from app.policy.risk.call import (
    OWN_PROGRAMS,
    UNKNOWN,
    Answer,
    Payload,
    RuleMatch,
    Stream,
    ask,
    resolve,
)
from app.policy.risk.code import code_answers
from app.policy.risk.command import plain_name
from app.policy.risk.control import is_traceless
from app.policy.risk.model import Given
from app.policy.risk.redirections import Redirections
from app.policy.risk.registry import RULES
from app.policy.risk.scope import ShellScope, certain_words
from app.policy.risk.syntax import ARGUMENTS

MAX_NESTING = 16


class Payloads(Redirections):
    """Assesses code that commands run, according to the rules. A subclass assesses words and
    text.
    """

    def __init__(self, home: str, given: Sequence[Given] = ()) -> None:
        super().__init__(home, given)
        self.nesting = 0
        self.outside = 0

    def argv(self, argv: list[str], scope: ShellScope, stdin: Stream | None) -> Stream:
        raise NotImplementedError

    def text(self, text: str, scope: ShellScope, shell: str, stdin: Stream | None = None) -> Stream:
        raise NotImplementedError

    def program(self, payload: Payload, scope: ShellScope) -> None:
        """Assess a program without a starting command."""
        self._answer(payload, None, scope)

    def answer(self, answer: Answer, index: int | None, scope: ShellScope) -> None:
        self._answer(answer, index, scope)

    def _answer(self, answer: Answer, index: int | None, scope: ShellScope) -> Stream | None:
        if isinstance(answer, RuleMatch):
            self.found(answer, index)
            return None
        if answer.vague and self.origins:
            return None
        if answer is OWN_PROGRAMS:
            self.own_programs = True
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

    def _payload(self, payload: Payload, index: int | None, scope: ShellScope) -> Stream | None:
        if payload.kind == "argv" and payload.moves is None and not payload.contained:
            words = list(payload.argv)
            if not words or is_traceless(words[0], scope):
                return self.argv(words, scope, payload.stdin) if words else None
        inner = scope if payload.here else scope.child()
        before = scope.given
        if payload.given:
            inner.list_words(ARGUMENTS, payload.given[1:])
            inner.given = certain_words(payload.given[1:])
            inner.record("0", payload.given[0])
        given = inner.given
        if payload.moves is not None:
            moved = resolve(payload.moves, scope.cwd, scope.home)
            inner.be_in([None if UNKNOWN in moved else moved])
        output = self._run(payload, index, inner)
        if payload.given and payload.here:
            # A sourced file has separate arguments, unless it sets those of all.
            scope.given = before if scope.given == given else None
        if not payload.contained:
            scope.files.update(inner.files)
        return output

    def _run(self, payload: Payload, index: int | None, inner: ShellScope) -> Stream | None:
        if payload.kind == "argv":
            return self._words(payload, inner) if payload.argv else None
        if payload.kind == "tool":
            known = plain_name(payload.argv[0]) in RULES
            return self.argv(list(payload.argv), inner, payload.stdin) if known else None
        if payload.text is None:
            self.found(ask("opaque_code", f"runs {payload.kind} code that is not known"), index)
            return None
        if payload.kind in {"shell", "powershell", "cmd"}:
            if not payload.here:
                self.definitions.mentioned(payload.text)
            self.outside += not payload.here
            output = self.text(payload.text, inner, payload.kind, payload.stdin)
            self.outside -= not payload.here
            return output
        for answer in code_answers(payload.kind, payload.text):
            self._answer(_at_home(answer, inner.home), index, inner)
        return None

    def _words(self, payload: Payload, scope: ShellScope) -> Stream:
        """Assess a command by its words; after `command` and `builtin` a name is never a
        function.
        """
        words = list(payload.argv)
        body = scope.functions.pop(words[0], None) if payload.here else None
        output = self.argv(words, scope, payload.stdin)
        if body is not None:
            scope.functions.setdefault(words[0], body)
        return output


def _at_home(answer: Answer, home: str) -> Answer:
    """Replace home folders by paths: in a program's text `~` is what it opens there."""
    if not isinstance(answer, Payload) or not any(word[:1] == "~" for word in answer.argv):
        return answer
    words = (
        home + word[1:] if word == "~" or word.startswith("~/") else word for word in answer.argv
    )
    return answer._replace(argv=tuple(words))
