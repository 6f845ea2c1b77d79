"""Lexer of shell words: quotes, escapes, expansions and substitutions, as in bash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.policy.risk.syntax import Arith, Cmd, Lit, Part, Proc, Script, Unreadable, Var, Word

_PLAIN = re.compile(r"[^ \t\n'\"\\$`|&;()<>]+")
_WHOLE_WORD = (
    r"(?:([^ \t\n'\"\\$`|&;()<>]++)|\"([^\"\\$`]*+)\"|'([^']*+)'"
    r"|\$([A-Za-z_]\w*+|[@*#?$!0-9-])|\"\$([A-Za-z_]\w*+|[@*#?$!0-9-])\")(?=[ \t\n;&|)]|\Z)"
)
_UNQUOTED, _VARIABLE, _QUOTED_VARIABLE = 1, 4, 5
"""Its groups, if it matters which one matched."""
_WHOLE = re.compile(_WHOLE_WORD, re.ASCII)
_WHOLE_NEXT = re.compile(rf"[ \t]++(?!#){_WHOLE_WORD}", re.ASCII)
_WORD_ENDS = frozenset(["", *" \t\n;&|)"])
_DOUBLE = re.compile(r"[^\"\\$`]+")
_HEREDOC = re.compile(r"[^\\$`]+")
_ARITHMETIC = re.compile(r"[^\\'\"$`()\[\]}]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SPECIAL = "@*#?$!-0123456789"
_ARGUMENTS = frozenset("@*123456789")
_DEFAULTS = ("-", "=", "+", "?", ":-", ":=", ":+", ":?")
_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|@|:")
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_LONG_OCTAL = re.compile(r"(?<!\\)((?:\\\\)*)\\0([0-7]{3})")
_ANSI_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))

MAX_EXPANSIONS = 3_500
MAX_DEPTH = 40


def decode_ansi(text: str) -> str:
    """Return the value of `$'text'`; text after a NUL is dropped, as in the shell."""
    return _ANSI.sub(_ansi_char, text).split("\0", 1)[0]


def decode_printed(text: str) -> str:
    """Return the value of `text` for `echo -e` and `%b`, where octal numbers may begin with 0."""
    return decode_ansi(_LONG_OCTAL.sub(r"\1\\\2", text))


def _ansi_char(match: re.Match[str]) -> str:
    hex2, hex4, hex8, octal, control, other = match.groups()
    if hex2 or hex4 or hex8:
        code = int(hex2 or hex4 or hex8, 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control) & 0x1F)
    return _ANSI_LETTERS.get(other, other if other in "\\'\"?" else "\\" + other)


@dataclass(slots=True)
class Spent:
    """Counts of a text and all nested texts.

    Attributes:
        expansions: number of commands and expansions.
        arguments: number of expansions of arguments (`$1`, `"$@"`).
    """

    expansions: int = 0
    arguments: int = 0


class WordReader:
    """Cursor over the text. Subclasses parse scripts; this class parses words."""

    def __init__(self, text: str, depth: int = 0, spent: Spent | None = None) -> None:
        if depth > MAX_DEPTH:
            raise Unreadable("substitutions are nested too deeply")
        self.text = text
        self.at = 0
        self.depth = depth
        self.spent = spent or Spent()

    def script_until(self, closer: str) -> Script:
        raise NotImplementedError

    def nested_script(self, text: str) -> Script:
        raise NotImplementedError

    def peek(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.text[at] if at < len(self.text) else ""

    def skip(self, char: str) -> None:
        if self.peek() == char:
            self.at += 1

    def spend(self) -> None:
        spent = self.spent
        spent.expansions += 1
        if spent.expansions > MAX_EXPANSIONS:
            raise Unreadable("too many commands and expansions")

    def word(self) -> Word:
        """Parse parts up to the next unquoted metacharacter; empty if there is no word."""
        if whole := _WHOLE.match(self.text, self.at):
            self.at = whole.end()
            return [self._whole(whole)]
        parts: Word = []
        while part := self._word_part(parts):
            parts.extend(part)
            if self.text[self.at : self.at + 1] in _WORD_ENDS:
                break
        return [part for part in parts if part is not _NOTHING]

    def next_words(self, words: list[Word]) -> None:
        """Parse following words on the fast path, as long as each has one part."""
        while whole := _WHOLE_NEXT.match(self.text, self.at):
            self.at = whole.end()
            words.append([self._whole(whole)])

    def _whole(self, found: re.Match[str]) -> Part:
        """Return a word of one part."""
        kind = found.lastindex or 0
        if kind >= _VARIABLE:
            self.spend()
            return self._named(found[kind], quoted=kind == _QUOTED_VARIABLE)
        return Lit(found[kind], kind != _UNQUOTED)

    def _word_part(self, before: Word) -> list[Part]:
        plain = _PLAIN.match(self.text, self.at)
        if plain:
            self.at = plain.end()
            return [Lit(plain.group())]
        char = self.text[self.at : self.at + 1]
        if char == "$":
            return self.dollar(quoted=False)
        if char in {"<", ">"} and self.peek(1) == "(":
            return [self._process(char)]
        if char == "(" and before and _opens_extglob(before[-1]):
            return [self._extglob()]
        if char == "\\":
            return [self._escape()]
        return self._quoted_part(char)

    def _quoted_part(self, char: str) -> list[Part]:
        if char == "'":
            return [Lit(self._single(), quoted=True)]
        if char == '"':
            self.at += 1
            return self.double('"') or [Lit("", quoted=True)]
        if char == "$":
            return self.dollar(quoted=False)
        if char == "`":
            return [self._backtick(quoted=False)]
        return []

    def _process(self, char: str) -> Part:
        self.at += 2
        self.spend()
        return Proc(self.script_until(")"), reads=char == "<")

    def _extglob(self) -> Part:
        end = self._matching(self.at, "(", ")")
        text, self.at = self.text[self.at : end + 1], end + 1
        if "$(" in text or "`" in text:
            raise Unreadable("a substitution inside an extended pattern")
        return Lit(text + "*")

    def _matching(self, start: int, opener: str, closer: str) -> int:
        depth = 0
        for at in range(start, len(self.text)):
            if self.text[at] == opener:
                depth += 1
            elif self.text[at] == closer:
                depth -= 1
                if depth == 0:
                    return at
        raise Unreadable(f"no {closer!r} closes {opener!r}")

    def _escape(self) -> Part:
        following = self.peek(1)
        self.at += 2 if following else 1
        if following == "\n":
            return _NOTHING
        return Lit(following or "\\", quoted=True)

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unreadable("a single quote is not closed")
        text, self.at = self.text[self.at + 1 : end], end + 1
        return text

    def double(self, closer: str) -> list[Part]:
        """Parse parts up to `closer` (`"`, or empty for a here-document: up to the end)."""
        text = self.text
        chunk = _DOUBLE if closer else _HEREDOC
        parts: list[Part] = []
        while True:
            if match := chunk.match(text, self.at):
                self.at = match.end()
                parts.append(Lit(match.group(), True))
            char = text[self.at : self.at + 1]
            if char == "$":
                parts.extend(self.dollar(quoted=True))
            elif char == closer:
                self.at += 1
                return parts
            elif not char:
                raise Unreadable("a double quote is not closed")
            else:
                parts.extend(self._inside_double(char, closer))

    def _inside_double(self, char: str, closer: str) -> list[Part]:
        if char == "\\":
            following = self.peek(1)
            self.at += 2 if following else 1
            if following == "\n":
                return []
            special = following in {"$", "`", "\\"} or (bool(closer) and following == '"')
            return [Lit(following if special else "\\" + following, quoted=True)]
        return [self._backtick(quoted=True)]

    def _backtick(self, *, quoted: bool) -> Part:
        self.spend()
        at, text = self.at + 1, []
        while at < len(self.text) and self.text[at] != "`":
            escapes = '$`\\"' if quoted else "$`\\"
            if self.text[at] == "\\" and self.text[at + 1 : at + 2] in set(escapes):
                at += 1
            text.append(self.text[at : at + 1])
            at += 1
        if at >= len(self.text):
            raise Unreadable("a backtick is not closed")
        self.at = at + 1
        return Cmd(self.nested_script("".join(text)), quoted)

    def dollar(self, *, quoted: bool) -> list[Part]:
        self.spend()
        if match := _NAME.match(self.text, self.at + 1):
            self.at = match.end()
            return [Var(match.group(), quoted=quoted)]
        following = self.peek(1)
        if following in {"'", '"'} and following and not quoted:
            return self._dollar_quote(following)
        if following == "(":
            return [self._dollar_paren(quoted=quoted)]
        if following == "{":
            self.at += 2
            return [self._braced(quoted=quoted)]
        if following == "[":
            self.at += 2
            return [Arith(self.arithmetic("]"))]
        if following and following in _SPECIAL:
            self.at += 2
            return [self._named(following, quoted=quoted)]
        self.at += 1
        return [Lit("$", quoted=True)]

    def _dollar_quote(self, quote: str) -> list[Part]:
        self.at += 1
        if quote == '"':
            self.at += 1
            return self.double('"') or [Lit("", quoted=True)]
        at = self.at + 1
        while self.text[at : at + 1] not in {"'", ""}:
            at += 2 if self.text[at] == "\\" else 1
        if at >= len(self.text):
            raise Unreadable("a $' quote is not closed")
        text, self.at = self.text[self.at + 1 : at], at + 1
        return [Lit(decode_ansi(text), quoted=True)]

    def _dollar_paren(self, *, quoted: bool) -> Part:
        start = self.at
        if self.peek(2) == "(" and self.text.find("))", self.at) > 0:
            self.at += 3
            try:
                return Arith(self.arithmetic("))"))
            except Unreadable:
                self.at = start
        self.at += 2
        return Cmd(self.script_until(")"), quoted)

    def arithmetic(self, closer: str) -> list[Part]:
        """Parse an arithmetic expression up to `closer`, which is consumed."""
        parts: list[Part] = []
        depth = 0
        while char := self.peek():
            if depth == 0 and self.text.startswith(closer, self.at):
                self.at += len(closer)
                return parts
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
            if depth < 0:
                raise Unreadable("unbalanced arithmetic")
            parts.extend(self._arithmetic_part(char))
        raise Unreadable("arithmetic is not closed")

    def _arithmetic_part(self, char: str) -> list[Part]:
        if char == "\\":
            return [self._escape()]
        if char in {"'", '"', "$", "`"}:
            return self._quoted_part(char)
        match = _ARITHMETIC.match(self.text, self.at)
        end = match.end() if match else self.at + 1
        text, self.at = self.text[self.at : end], end
        return [Lit(text)]

    def _braced(self, *, quoted: bool) -> Part:
        prefix = ""
        if self.peek() in {"!", "#"} and self.peek(1) not in {"}", ":", "-", ""}:
            prefix = self.peek()
            self.at += 1
        match = _NAME.match(self.text, self.at)
        if match:
            name, self.at = match.group(), match.end()
        elif self.peek() and self.peek() in _SPECIAL:
            name = self._special_name()
        else:
            raise Unreadable("an expansion that we do not read")
        arg: list[Part] = []
        if self.peek() == "[":
            self.at += 1
            arg, prefix = self.arithmetic("]"), prefix or "["
        operator = _OPERATOR.match(self.text, self.at)
        op = operator.group() if operator else ""
        self.at += len(op)
        arg += self._braced_argument(op, quoted=quoted)
        return self._named(name, prefix or op, arg, quoted=quoted)

    def _named(self, name: str, op: str = "", arg: Sequence[Part] = (), *, quoted: bool) -> Var:
        if name[0] in _ARGUMENTS:
            self.spent.arguments += 1
        return Var(name, op, arg, quoted)

    def _special_name(self) -> str:
        match = re.compile(r"\d+|.").match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match.group()

    def _braced_argument(self, op: str, *, quoted: bool) -> list[Part]:
        parts: list[Part] = []
        plain_quotes = quoted and op in _DEFAULTS
        while (char := self.peek()) != "}":
            if not char:
                raise Unreadable("an expansion is not closed")
            if char == "'" and plain_quotes:
                self.at += 1
                parts.append(Lit("'", quoted=True))
                continue
            found = self._arithmetic_part(char)
            for part in found:
                if isinstance(part, Lit) and part.text and not part.quoted:
                    part.quoted = quoted
            parts.extend(found)
        self.at += 1
        return parts


_NOTHING = Lit("")


def _opens_extglob(part: Part) -> bool:
    return isinstance(part, Lit) and not part.quoted and part.text[-1:] in set("?*+@!")


def document(text: str, at: int, delimiter: str, *, indented: bool) -> tuple[str, int]:
    """Return the here-document that starts at `at`, and its end; `indented` by tabs."""
    lines: list[str] = []
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line, at = text[at:end], min(end + 1, len(text))
        line = line.lstrip("\t") if indented else line
        if line == delimiter:
            break
        lines.append(line + "\n")
    return "".join(lines), at
