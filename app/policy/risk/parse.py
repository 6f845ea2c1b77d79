"""Recursive-descent parser of bash: text to a `Script`, or `Unreadable`.

It fails closed: anything it does not parse is an error, and an error is never safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from app.policy.risk.fast_path import plain_words
from app.policy.risk.syntax import (
    AndOr,
    Assign,
    Branches,
    Function,
    Group,
    Lit,
    Node,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Unreadable,
    Word,
    in_background,
    literal,
)
from app.policy.risk.words import MAX_DEPTH, Spent, WordReader, document

_SPACE = re.compile(r"(?>(?:[ \t\n]++|\\\n|#[^\n]*)+)")
_TIME_FLAG = re.compile(r"(?:-p|--)(?=[ \t])")
_SKIPPED = frozenset([" ", "\t", "\\", "#"])
_BLANK = re.compile(r"(?>(?:[ \t]++|\\\n)+)")
_REDIRECT = re.compile(r"(\d+|\{\w+\})?(<<<|<<-|<<|<>|<&|>&|>>|>\||>|<)|(&>>|&>)")
_ASSIGN = re.compile(r"([A-Za-z_]\w*+)(\[[^\]\n]*\])?(\+?)=", re.ASCII)
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|while|until|for|select|do|done|case|esac|in|function|coproc|time"
    r"|\[\[|[!{}])(?=[\s;&|()<>]|$)"
)
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "in"})
_CLOSER_STARTS = frozenset("tefdi}")
_RESERVED_STARTS = frozenset("itewufsdc[!{}")
_SEPARATORS = frozenset([";", "&"])
_PREFIXES = frozenset(["!", "time"])
_PREFIX_STARTS = frozenset(["!", "t"])
_REDIRECT_STARTS = frozenset("<>&{0123456789")
_COMMAND_ENDS = frozenset(["", "\n", ";", "&", "|", "(", ")"])
_TIME_OPTION = re.compile(r"time\s+-(?!p\s|-\s)")
_COPROC_NAME = re.compile(r"\w+(?=\s+[({])", re.ASCII)
_TEST_SPACE = re.compile(r"[\s()&|<>]+")
_TEST_END = re.compile(r"\]\](?=[\s;&|()<>]|$)")
_FUNCTION = re.compile(r"([^\s'\"\\$`|&;()<>=]++)[ \t]*+\([ \t]*\)")
_CASE_END = re.compile(r";;&|;;|;&")
_DECLARE = frozenset({"export", "declare", "typeset", "local", "readonly"})


def parse(text: str) -> Script:
    """Parse a script. Raises `Unreadable` for anything but a complete script."""
    return ScriptReader(text).whole()


class ScriptReader(WordReader):
    def __init__(self, text: str, depth: int = 0, spent: Spent | None = None) -> None:
        super().__init__(text, depth, spent)
        self.pending: list[tuple[Redirect, str, bool, bool]] = []

    def whole(self) -> Script:
        script = self.script()
        if self.at < len(self.text):
            raise Unreadable(f"unexpected {self.text[self.at : self.at + 20]!r}")
        if self.pending:
            self._read_heredocs()
        return script

    def nested_script(self, text: str) -> Script:
        return ScriptReader(text, self.depth + 1, self.spent).whole()

    def script_until(self, closer: str) -> Script:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("commands are nested too deeply")
        script = self.script()
        self.expect(closer)
        self.depth -= 1
        return script

    def expect(self, text: str) -> None:
        self.blanks()
        if not self.text.startswith(text, self.at):
            raise Unreadable(f"expected {text!r} at {self.text[self.at : self.at + 20]!r}")
        self.at += len(text)

    def blanks(self) -> None:
        if self.text[self.at : self.at + 1] not in _SKIPPED:
            return
        if match := _BLANK.match(self.text, self.at):
            self.at = match.end()
        if self.peek() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def newlines(self) -> None:
        if not self.pending:
            if match := _SPACE.match(self.text, self.at):
                self.at = match.end()
            return
        self.blanks()
        while self.peek() == "\n":
            self.at += 1
            if self.pending:
                self._read_heredocs()
            self.blanks()

    def reserved(self) -> str:
        if self.text[self.at : self.at + 1] not in _RESERVED_STARTS:
            return ""
        match = _RESERVED.match(self.text, self.at)
        return match.group() if match else ""

    def keyword(self, *words: str) -> str:
        self.newlines()
        found = self.reserved()
        if found not in words:
            raise Unreadable(f"expected {' or '.join(words)}")
        self.at += len(found)
        return found

    def script(self) -> Script:
        """Parse commands up to the end, a closing word, `)` or `;;`."""
        items: list[Node] = []
        while True:
            self.newlines()
            if items and self.text[self.at : self.at + 2] in {"&&", "||"}:
                self.at += 2  # Such a line ends the shell; what follows is assessed anyway.
                self.newlines()
            node: Node | None = self._plain()
            if node is None and self._at_end():
                return Script(items)
            self.spend()
            node = node or self._first_command()
            if not self._ends_here():
                node = self._and_or(node)
                node = in_background(node) if self._separator() == "&" else node
            items.append(node)

    def _separator(self) -> str:
        self.blanks()
        char = self.text[self.at : self.at + 1]
        if char in _SEPARATORS and not self._at_case_end():
            self.at += 1
        elif char != "\n" and not self._at_end():
            raise Unreadable(f"unexpected {self.text[self.at : self.at + 20]!r}")
        return char

    def _ends_here(self) -> bool:
        """Return whether the last command ends with its line; consumes a `;`."""
        end = self.text[self.at : self.at + 1]
        if end == ";" and self.text[self.at + 1 : self.at + 2] not in {";", "&"}:
            self.at += 1
            return True
        return end in {"\n", ""}

    def _at_case_end(self) -> bool:
        return bool(_CASE_END.match(self.text, self.at))

    def _at_end(self) -> bool:
        char = self.text[self.at : self.at + 1]
        if char in _CLOSER_STARTS:
            return self.reserved() in _CLOSERS
        return char in {"", ")"} or (char == ";" and self._at_case_end())

    def _and_or(self, first: Node) -> Node:
        items, otherwise = [self._pipeline(first)], set[int]()
        while True:
            self.blanks()
            operator = self.text[self.at : self.at + 2]
            if operator not in {"&&", "||"}:
                return items[0] if len(items) == 1 else AndOr(items, frozenset(otherwise))
            if operator == "||":
                otherwise.add(len(items))
            self.at += 2
            self.newlines()
            self.spend()
            items.append(self._pipeline(self._plain() or self._first_command()))

    def _pipeline(self, first: Node) -> Node:
        commands = [first]
        while True:
            self.blanks()
            if self.text[self.at : self.at + 1] != "|" or self.peek(1) == "|":
                return first if len(commands) == 1 else Pipeline(commands)
            self.at += 2 if self.peek(1) == "&" else 1
            self.newlines()
            self.spend()
            commands.append(self._plain() or self._command())

    def _plain(self) -> Simple | None:
        """Parse a command without expansions on the fast path."""
        found = plain_words(self.text, self.at)
        if found is None or found[0][0] in _DECLARE:
            return None
        words, self.at = found
        return Simple((), (), (), words)

    def _prefixes(self) -> None:
        while self.reserved() in _PREFIXES:
            if self.reserved() == "time" and _TIME_OPTION.match(self.text, self.at):
                return
            self.at += len(self.reserved())
            self.blanks()
            while flag := _TIME_FLAG.match(self.text, self.at):
                self.at = flag.end()
                self.blanks()

    def _first_command(self) -> Node:
        """Parse the first command of a pipeline, optionally after `!` and `time`."""
        if self.text[self.at : self.at + 1] in _PREFIX_STARTS:
            self._prefixes()
        return self._command()

    def _command(self) -> Node:
        if self.text[self.at : self.at + 1] in _SKIPPED:
            self.blanks()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("commands are nested too deeply")
        node = self._command_here()
        self.depth -= 1
        return node

    def _command_here(self) -> Node:
        if self.text[self.at : self.at + 1] == "(":
            return self._parenthesis()
        reserved = self.reserved()
        if not reserved:
            return self._simple_or_function()
        if reserved in _COMPOUNDS:
            if reserved != "coproc":
                self.at += len(reserved)
            return _COMPOUNDS[reserved](self)
        if reserved in _CLOSERS:
            raise Unreadable(f"unexpected {reserved!r}")
        return self._simple_or_function()

    def _simple_or_function(self) -> Node:
        if match := _FUNCTION.match(self.text, self.at):
            self.at = match.end()
            return self._function_body(match.group(1))
        return self._simple()

    def _parenthesis(self) -> Node:
        start = self.at
        if self.peek(1) == "(" and self.text.find("))", self.at) > 0:
            self.spend()
            self.at += 2
            try:
                words = [self.arithmetic("))")]
                return Branches(words, [], self._redirects(), arithmetic=True)
            except Unreadable:
                self.at = start
        self.at += 1
        body = self.script_until(")")
        return Group(body, self._redirects(), subshell=True)

    def _group(self) -> Node:
        body = self.script()
        self.keyword("}")
        return Group(body, self._redirects(), subshell=False)

    def _coproc(self) -> Node:
        self.at += len("coproc")
        self.blanks()
        if match := _COPROC_NAME.match(self.text, self.at):
            self.at = match.end()
        # The co-process reads from a pipe whose writers are not tracked.
        unseen = Redirect("<&", [Lit("COPROC")])
        return Group(Script([self._command()]), [unseen], subshell=True)

    def _function_keyword(self) -> Node:
        self.blanks()
        name = self.word()
        if not name or not isinstance(name[0], Lit):
            raise Unreadable("a function without a name")
        self.blanks()
        if self.peek() == "(":
            self.at += 1
            self.expect(")")
        return self._function_body(name[0].text)

    def _function_body(self, name: str) -> Node:
        self.newlines()
        before, body = self.spent.arguments, self._command()
        if isinstance(body, Simple):
            raise Unreadable("a function body must be a compound command")
        return Function(name, body, self.spent.arguments > before)

    def _if(self) -> Node:
        bodies = [self.script()]
        self.keyword("then")
        bodies.append(self.script())
        while (found := self.keyword("elif", "else", "fi")) != "fi":
            bodies.append(self.script())
            if found == "elif":
                self.keyword("then")
                bodies.append(self.script())
        return Branches([], bodies, self._redirects(), tests=True)

    def _while(self) -> Node:
        condition = self.script()
        self.keyword("do")
        body = self.script()
        self.keyword("done")
        return Branches([], [condition, body], self._redirects(), loop=True, tests=True)

    def _for(self) -> Node:
        self.blanks()
        words: list[Word] = []
        variable = None
        arithmetic = self.text.startswith("((", self.at)
        if arithmetic:
            self.at += 2
            words.append(self.arithmetic("))"))
        else:
            variable, words = self._for_words()
        self.blanks()
        self.skip(";")
        opener = self.keyword("do", "{")
        body = self.script()
        self.keyword("done" if opener == "do" else "}")
        redirects = self._redirects()
        return Branches(
            words, [body], redirects, loop=True, variable=variable, arithmetic=arithmetic
        )

    def _for_words(self) -> tuple[str, list[Word]]:
        name = self.word()
        if len(name) != 1 or not isinstance(name[0], Lit):
            raise Unreadable("a loop without a variable")
        self.newlines()
        words: list[Word] = []
        if self.reserved() == "in":
            self.at += 2
            self.blanks()
            while self.peek() not in {"", "\n", ";"}:
                words.append(self._required_word())
                self.blanks()
        else:
            words.append([self._named("@", quoted=True)])
        return name[0].text, words

    def _required_word(self) -> Word:
        start = self.at
        word = self.word()
        if self.at == start:
            raise Unreadable(f"unexpected {self.text[self.at : self.at + 20]!r}")
        return word

    def _case(self) -> Node:
        self.blanks()
        words = [self._required_word()]
        self.keyword("in")
        bodies: list[Script] = []
        falls = set[int]()
        self.newlines()
        while self.reserved() != "esac":
            words.extend(self._case_patterns())
            bodies.append(self.script())
            self.newlines()
            if match := _CASE_END.match(self.text, self.at):
                self.at = match.end()
                if match.group() != ";;":
                    falls.add(len(bodies) - 1)
            elif self.reserved() != "esac":
                raise Unreadable("a case arm is not closed")
            self.newlines()
        self.at += len("esac")
        return Branches(words, bodies, self._redirects(), falls=frozenset(falls))

    def _case_patterns(self) -> list[Word]:
        self.skip("(")
        patterns: list[Word] = []
        while True:
            self.blanks()
            patterns.append(self._required_word())
            self.blanks()
            char = self.peek()
            self.at += 1
            if char == ")":
                return patterns
            if char != "|":
                raise Unreadable("a case pattern is not closed")

    def _test(self) -> Node:
        words: list[Word] = []
        while True:
            if match := _TEST_SPACE.match(self.text, self.at):
                self.at = match.end()
            if _TEST_END.match(self.text, self.at):
                self.at += 2
                return Branches(words, [], self._redirects(), arithmetic=True)
            self.spend()
            words.append(self._required_word())

    def _simple(self) -> Node:
        text = self.text
        assigns: list[Assign] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        declares = False
        while True:
            char = text[self.at : self.at + 1]
            if char in _SKIPPED:
                self.blanks()
                char = text[self.at : self.at + 1]
            if char in _COMMAND_ENDS and (char != "&" or text[self.at + 1 : self.at + 2] != ">"):
                break
            if char in _REDIRECT_STARTS and (redirect := self._redirect()):
                redirects.append(redirect)
            elif (declares or not words) and (match := _ASSIGN.match(text, self.at)):
                assigns.append(self._assign(match))
            else:
                words.append(self._required_word())
                declares = declares or (len(words) == 1 and literal(words[0]) in _DECLARE)
                if not declares:
                    self.next_words(words)
        if not (assigns or words or redirects):
            raise Unreadable(f"unexpected {text[self.at : self.at + 20]!r}")
        if char == "(":
            raise Unreadable("unexpected '('")
        return Simple(assigns, words, redirects)

    def _assign(self, match: re.Match[str]) -> Assign:
        self.at = match.end()
        self.spend()
        name, subscript, append = match.groups()
        assign = Assign(name, [], append=bool(append))
        if subscript:
            assign.subscript = ScriptReader(subscript[1:-1], self.depth + 1, self.spent).double("")
        if self.peek() == "(":
            self.at += 1
            assign.array = self._array()
        else:
            assign.value = self.word()
        return assign

    def _array(self) -> list[Word]:
        items: list[Word] = []
        self.newlines()
        while self.peek() != ")":
            items.append(self._required_word())
            self.newlines()
        self.at += 1
        return items

    def _redirects(self) -> list[Redirect]:
        found: list[Redirect] = []
        self.blanks()
        while redirect := self._redirect():
            found.append(redirect)
            self.blanks()
        return found

    def _redirect(self) -> Redirect | None:
        starts = self.text[self.at : self.at + 1] in _REDIRECT_STARTS
        if not starts or not (match := _REDIRECT.match(self.text, self.at)):
            return None
        op = match.group(2) or match.group(3)
        if op in {"<", ">"} and self.text.startswith("(", match.end()) and match.group() == op:
            return None
        self.at = match.end()
        self.spend()
        self.blanks()
        start = self.at
        redirect = Redirect(op, self._required_word(), match.group(1) or "")
        if op in {"<<", "<<-"}:
            raw = self.text[start : self.at]
            quoted = any(char in raw for char in "'\"\\")
            delimiter = literal(redirect.target) if quoted else raw
            self.pending.append((redirect, delimiter, quoted, op == "<<-"))
        return redirect

    def _read_heredocs(self) -> None:
        pending, self.pending = self.pending, []
        for redirect, delimiter, quoted, strip in pending:
            body, self.at = document(self.text, self.at, delimiter, indented=strip)
            inner = ScriptReader(body, self.depth + 1, self.spent)
            redirect.target = [Lit(body, quoted=True)] if quoted else inner.double("")


_COMPOUNDS: dict[str, Callable[[ScriptReader], Node]] = {
    "if": ScriptReader._if,
    **dict.fromkeys(["while", "until"], ScriptReader._while),
    **dict.fromkeys(["for", "select"], ScriptReader._for),
    "case": ScriptReader._case,
    "function": ScriptReader._function_keyword,
    "coproc": ScriptReader._coproc,
    "{": ScriptReader._group,
    "[[": ScriptReader._test,
}
