"""State of a shell at one position of a script: variables, directory, functions, files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.policy.risk.call import SECRET, UNKNOWN, Stream
from app.policy.risk.secrets import is_secret_name
from app.policy.risk.syntax import ARGUMENTS, EVERY_NAME, Node

_MOST_VALUES = 4
_MOST_WORDS = 64
_MOST_TEXT = 4096
_SPACES = " \t\n"
_NOT_CERTAIN = re.compile(f"[*?\\[{UNKNOWN}]")
_NO_CHANGES = frozenset(["HOME", "IFS", "SHELL"])


@dataclass(slots=True)
class ShellScope:
    """Variables set by the script itself; a missing name is unknown.

    Attributes:
        maybe: possible values if none is certain: set in a branch, by a function, or exported by
            the surrounding shell.
        lists: words of arrays, and under "@" the arguments of a script or function, as far as
            known.
        guess: `lists` and `maybe` are assumed to be certain, to see the consequences.
        given: arguments of a script or function, if all are certain.
        places: other possible directories besides `cwd`, which is None if none is more likely.
    """

    variables: dict[str, str]
    cwd: str | None
    home: str
    poisoned: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)

    stdin: Stream | None = None
    maybe: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    guess: bool = False
    given: tuple[str, ...] | None = None
    places: tuple[str, ...] = ()

    def copy(self) -> ShellScope:
        return ShellScope(
            self.variables.copy(),
            self.cwd,
            self.home,
            self.poisoned,
            self.aliases.copy(),
            self.files.copy(),
            self.stdin,
            self.maybe.copy(),
            self.lists.copy(),
            self.functions.copy(),
            self.guess,
            self.given,
            self.places,
        )

    def child(self) -> ShellScope:
        """Return the scope of another process: it has only the exported variables, which are
        unknown.
        """
        ours = self.variables
        variables = {"IFS": _SPACES}
        variables |= {key: ours[key] for key in ("HOME", "SHELL") if key in ours}
        inner = ShellScope(
            variables,
            self.cwd,
            self.home,
            self.poisoned,
            self.aliases.copy(),
            self.files.copy(),
            self.stdin,
            self.maybe.copy(),
            places=self.places,
        )
        for name, value in ours.items():
            if SECRET in value:
                variables[name] = SECRET
            inner.record(name, value)
        return inner

    def join(self, other: ShellScope) -> None:
        """Keep only what is equal in a branch that may have run."""
        ours, theirs = self.variables, other.variables
        if ours != theirs:
            self.variables = {key: value for key, value in ours.items() if theirs.get(key) == value}
            for before in (ours, theirs):
                for name in before.keys() - self.variables.keys():
                    self.record(name, before[name])
        self.merge(other)
        self.may_write(other.files)
        self.aliases.update(other.aliases)
        if other.given != self.given:
            self.given = None
        if other.cwd != self.cwd or other.places != self.places:
            self.be_in([self.cwd, other.cwd, *self.places, *other.places])

    def be_in(self, places: Iterable[str | None]) -> None:
        """Set possible working directories; None: an unknown one."""
        found = dict.fromkeys(places)
        if len(found) == 1:
            self.cwd, self.places = next(iter(found)), ()
            return
        self.cwd, self.places = None, ()
        self.may_be_in(found)

    def may_be_in(self, places: Iterable[str | None]) -> None:
        others = dict.fromkeys([*self.places, *places])
        found = [place for place in others if place not in {None, self.cwd}]
        self.places = tuple(found[:_MOST_VALUES])

    def may_write(self, files: Mapping[str, str | None]) -> None:
        """Record that `files` may have been written; a file with another text has one of both."""
        ours = self.files
        for path, text in files.items():
            ours[path] = text if ours.get(path, text) == text else None

    def traces(self) -> tuple[object, ...]:
        """Return the side effects of commands besides variables."""
        known = (self.files.copy(), self.aliases.copy(), self.functions.copy())
        return (self.cwd, self.places, *known)

    def merge(self, other: ShellScope) -> None:
        """Merge possible values of a branch that may have run."""
        if other.maybe != self.maybe:
            for name, values in other.maybe.items():
                before = self.maybe.get(name)
                if values is not before and values != before:
                    for value in values:
                        self.record(name, value)
        self.lists.update(other.lists)
        self.functions.update(other.functions)

    def record(self, name: str, value: str | None) -> None:
        """Record a possible value of `name`."""
        if value is None or name in _NO_CHANGES or UNKNOWN in value:
            return
        before = self.maybe.get(name, ())
        if value not in before:
            self.maybe[name] = (*before, value)[-_MOST_VALUES:]

    def lookup(self, name: str) -> str:
        if self.guess and (found := self._argument(name)) is not None:
            return found
        if self.poisoned and (name in self.poisoned or EVERY_NAME in self.poisoned):
            return UNKNOWN
        if self.given is not None and (found := self._given(name)) is not None:
            return found
        if name == "PWD":
            return self.cwd if self.cwd is not None else UNKNOWN
        value = self.variables.get(name)
        if value is None:
            # Values not set by the script come from the environment.
            return SECRET if is_secret_name(name) else UNKNOWN
        return value

    def is_set(self, name: str) -> bool:
        """Return whether a name with a known empty value is set at all: a missing argument is
        not.
        """
        words = self.given if self.given is not None else self.lists.get(ARGUMENTS)
        return words is None or not name.isdigit() or int(name[:9]) <= len(words)

    def _given(self, name: str) -> str | None:
        """Return the text of an argument, or of all of them, if certain."""
        assert self.given is not None
        if name.isdigit() and name != "0":
            return _numbered(self.given, name)
        if name in {"@", "*"}:
            # Separated by the characters that split words.
            return " ".join(self.given) if self.variables.get("IFS") == _SPACES else UNKNOWN
        return None

    def list_words(self, name: str, words: Sequence[str]) -> None:
        """Record the words of an array, or of the arguments ("@"), if there are few."""
        if len(words) <= _MOST_WORDS:
            self.lists[name] = tuple(words)
        else:
            self.lists.pop(name, None)

    def _argument(self, name: str) -> str | None:
        words = self.lists.get(ARGUMENTS)
        if words is not None and name in {"@", "*"}:
            return " ".join(words)
        if words is not None and name.isdigit() and name != "0":
            return _numbered(words, name)
        if name in self.lists and UNKNOWN in self.variables.get(name, UNKNOWN):
            return "".join(self.lists[name][:1])
        return None

    def possible(self, name: str) -> tuple[str, ...]:
        """Return the possible values of `name` if none is certain; empty: unknown."""
        now = self.variables.get(name, UNKNOWN)
        if (now is UNKNOWN and name not in self.maybe) or UNKNOWN not in self.lookup(name):
            return ()
        before = self.maybe.get(name, ())
        return before if UNKNOWN in now or now in before else (*before, now)

    def forget(self, names: Iterable[str]) -> None:
        """Record that these may have another value now."""
        every = EVERY_NAME in names
        if every or ARGUMENTS in names:
            self.given = None
        for name in list(self.variables) if every else names:
            self.record(name, self.variables.pop(name, None))

    def drop(self, names: Iterable[str]) -> None:
        """Record that these have another, unknown value now."""
        for name in names:
            self.variables.pop(name, None)
            self.maybe.pop(name, None)

    def guesses(self, names: Iterable[str]) -> list[ShellScope]:
        """Return scopes in which each of `names` has one of its possible values."""
        found: dict[str, tuple[str, ...]] = {}
        for name in names:
            if values := self.possible(name):
                found[name] = values
        if not found:
            return [self._with({})] if self.lists and self._listed(names) else []
        turns = max(map(len, found.values()))
        return [self._with(_nth(found, turn)) for turn in range(turns)]

    def _listed(self, names: Iterable[str]) -> bool:
        """Return whether the words of an array, or of the arguments, are needed."""
        for name in names:
            if name in self.lists or name.isdigit() or (name == "*" and ARGUMENTS in self.lists):
                return True
        return False

    def _with(self, values: Mapping[str, str]) -> ShellScope:
        inner = self.copy()
        inner.guess, inner.poisoned = True, self.poisoned - values.keys()
        inner.variables.update(values)
        return inner


def _numbered(words: Sequence[str], number: str) -> str:
    at = int(number[:9])
    return words[at - 1] if 0 < at <= len(words) else ""


def certain_words(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return `words` if a command certainly gets exactly these; otherwise None."""
    if len(words) > _MOST_WORDS or sum(map(len, words)) > _MOST_TEXT:
        return None
    return None if any(map(_NOT_CERTAIN.search, words)) else tuple(words)


def _nth(found: Mapping[str, tuple[str, ...]], turn: int) -> dict[str, str]:
    return {name: values[min(turn, len(values) - 1)] for name, values in found.items()}
