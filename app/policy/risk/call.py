"""What a rule sees (`CommandCall`), what it answers (`RuleMatch`, `Payload`), how options are read.

Values created by the hundred per script are named tuples: a frozen dataclass takes twice as long to
create.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from app.policy.risk.model import RiskLevel, Verdict

UNKNOWN = "\0"
"""Placeholder for text known only at run time; never part of a real argument."""
SECRET = UNKNOWN + "\1"
"""The same for text with a secret: the environment, a key file, and derived text."""


def unknown(*texts: str) -> str:
    """Return the placeholder for text built from `texts`: a secret among them makes it secret."""
    return SECRET if any(SECRET in text for text in texts) else UNKNOWN


class Stream(NamedTuple):
    """Input or output of a command.

    Attributes:
        text: None if unknown.
        file: name of its source file.
        listed: words certainly in a text that is otherwise unknown.
        secret: description of its secret; "" for none.
    """

    text: str | None
    file: str | None = None
    listed: tuple[str, ...] = ()
    secret: str = ""


class RuleMatch(NamedTuple):
    """A finding.

    Attributes:
        vague: it reports something unknown, or common in programs: it asks for the command's own
            words, but not for files that it runs.
        named: it names its file itself.
    """

    code: str
    why: str
    level: RiskLevel = RiskLevel.HIGH
    verdict: Verdict = Verdict.ASK
    targets: tuple[str, ...] = ()
    vague: bool = False
    named: bool = False


class Payload(NamedTuple):
    """Code that the command would run.

    `argv` for kind "argv", and for "tool", which counts only where a rule knows the command;
    `text` for "shell", "powershell" or the name of a language (None: not known). `moves` is
    a directory to run in; `contained` says that the command runs in a container, where the
    host's floor does not apply. `here` keeps the variables.
    `given` is the name and the arguments that a shell script gets; `vague` as for a `RuleMatch`.
    """

    kind: str
    argv: tuple[str, ...] = ()
    text: str | None = None
    stdin: Stream | None = None
    moves: str | None = None
    contained: bool = False
    here: bool = False
    given: tuple[str, ...] = ()
    vague: bool = False


def run(argv: Sequence[str], **more: object) -> Payload:
    return Payload("argv", tuple(argv), **more)  # type: ignore[arg-type]


def script(text: str | None, language: str = "shell", **more: object) -> Payload:
    known = text if text is None or UNKNOWN not in text else None
    return Payload(language, text=known, **more)  # type: ignore[arg-type]


UNTOLD = Stream(None)
"""Input from a program to a command in one of its options, unknown here."""


@dataclass(slots=True, eq=False)
class Flow:
    """Effects of the script so far on what later commands send.

    Attributes:
        files: files filled with a secret, by absolute path, with the secret.
        remotes: git remotes that it has set.
    """

    files: dict[str, str] = field(default_factory=dict)
    remotes: set[str] = field(default_factory=set)


_NO_FLOW = Flow()


@dataclass(slots=True)
class CommandCall:
    """Command with its words. `args` exclude the name; `at` resolves paths."""

    name: str
    args: list[str]
    cwd: str | None
    home: str
    stdin: Stream | None = None
    contained: bool = False
    assigned: dict[str, str] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)
    flow: Flow = _NO_FLOW
    texts: dict[str, str] = field(default_factory=dict)
    """Results of the shape tables for the words, by parsing."""

    def written(self, path: str) -> str | None:
        """Return what this script wrote to `path` before, or feeds through it; None: unknown."""
        if path in {"-", "/dev/stdin"}:
            return self.stdin.text if self.stdin else None
        return self.files.get(self.at(path))

    def was_written(self, path: str) -> bool:
        return path.startswith("/dev/fd/") or self.at(path) in self.files

    def at(self, path: str) -> str:
        """Return the absolute, normalized path; UNKNOWN at its front if undetermined."""
        return resolve(path, self.cwd, self.home)


Answer = RuleMatch | Payload
Rule = Callable[[CommandCall], Iterator[Answer]]
RuleTable = dict[str, Rule]


def ask(code: str, why: str, level: RiskLevel = RiskLevel.HIGH) -> RuleMatch:
    return RuleMatch(code, why, level)


def vaguely(code: str, why: str) -> RuleMatch:
    """Return a finding that does not apply in a file that the command runs."""
    return RuleMatch(code, why, vague=True)


def deny(code: str, why: str) -> RuleMatch:
    return RuleMatch(code, why, RiskLevel.CRITICAL, Verdict.DENY)


OWN_PROGRAMS = Payload("own_programs")
"""Harmless itself: setting `PATH` matters to rules that allow a command by name."""


def table(names: str, rule: Rule) -> RuleTable:
    return dict.fromkeys(names.split(), rule)


def asking(names: str, code: str, why: str, level: RiskLevel = RiskLevel.HIGH) -> RuleTable:
    """Return rules for commands that ask for any arguments, except help."""

    def rule(call: CommandCall) -> Iterator[Answer]:
        if not only_help(call.args):
            yield ask(code, f"{call.name} {why}", level)

    return table(names, rule)


def names(text: str) -> list[str]:
    """Return a table of words given as text."""
    return text.split()


def is_pattern(word: str) -> bool:
    """Return whether a word may be expanded to file names: `git rese[t]` with a file `reset`."""
    return "[" in word or "*" in word or "?" in word


def may_be_option(word: str) -> bool:
    """Return whether it is a pattern that may match an option."""
    return word.startswith(("-", "[-")) and is_pattern(word.partition("=")[0])


def unresolved_verb(call: CommandCall, verb: str) -> Iterator[RuleMatch]:
    """Ask about an unknown subcommand, which is as decisive as the command's name."""
    if UNKNOWN in verb or is_pattern(verb):
        yield ask("unresolved_command", f"what {call.name} does is not known before it runs")


def only_help(args: Sequence[str]) -> bool:
    return bool(args) and args[0] in _HELP and _HELP.issuperset(args)


_HELP = frozenset(["--help", "--version", "-h", "-V", "/?"])
_HELP_ANYWHERE = frozenset(["--help", "--version"])


def prints_help(args: Sequence[str]) -> bool:
    """Return whether a long option for help or version occurs before `--`.

    For programs that then do nothing else, at any position.
    """
    before = args[: args.index("--")] if "--" in args else args
    return not _HELP_ANYWHERE.isdisjoint(before)


def resolve(path: str, cwd: str | None, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    if path[:1] != "/":
        path = f"{cwd if cwd is not None else UNKNOWN}/{path}"
    absolute = path[0] == "/" and path[1:2] != UNKNOWN and path[-1] != "/"
    if absolute and "/." not in path and "//" not in path:
        return path
    kept: list[str] = []
    for piece in path.split("/"):
        if piece == "..":
            if kept and kept[-1] not in {UNKNOWN, SECRET}:
                kept.pop()
        elif piece not in {"", "."}:
            kept.append(piece)
    rooted = "/".join(kept)
    return rooted if rooted.startswith(UNKNOWN) else "/" + rooted


@dataclass(slots=True)
class Options:
    """Options of one command line, with clusters split.

    `flags` contains every option as written (`-f`, `--force`); `values` the value of each option
    that takes one; `rest` the operands, with `first` as the index of the first operand in the
    arguments (or their length).
    """

    flags: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    first: int = 0

    def has(self, *names: str) -> bool:
        """Return whether any of `names` is given; long names also when abbreviated."""
        for flag in self.flags:
            if flag in names or (flag[:2] == "--" and _abbreviates(flag, names)):
                return True
        return False

    def value(self, *names: str) -> str | None:
        for name in names:
            if name in self.values:
                return self.values[name][-1]
        return None

    def all_values(self, *names: str) -> list[str]:
        if not self.values:
            return []
        return [value for name in names for value in self.values.get(name, [])]


def _abbreviates(flag: str, names: tuple[str, ...]) -> bool:
    return len(flag) > 2 and any(name.startswith(flag) for name in names)


def options(
    args: Sequence[str],
    valued: str = "",
    *,
    stop: bool = False,
    clusters: bool = True,
    optional: str = "",
) -> Options:
    """Parse options.

    `valued` lists options that take the next word as value, without the first dash: `u -user`; a
    trailing `=` (`-prune=`) means that only an attached value is accepted. `stop`: the first
    operand ends the options, as for wrappers. `clusters` False: one dash is equivalent to two
    (`find`, `terraform`). `optional` letters take only an attached value.
    """
    if stop and args and args[0][:1] != "-":
        return Options([], {}, list(args), 0)
    known = _known(valued)
    flags: list[str] = []
    rest: list[str] = []
    found = Options(flags, {}, rest, 0)
    first, at, is_value = -1, -1, False
    for arg in args:
        at += 1
        if is_value:
            is_value = False
        elif arg[:1] != "-" or arg == "-":
            first = at if first < 0 else first
            if stop:
                rest += args[at:]
                break
            rest.append(arg)
        elif arg == "--":
            rest += args[at + 1 :]
            first = at + 1 if first < 0 else first
            break
        elif not clusters or arg[:2] == "--":
            is_value = _long(found, arg, args[at + 1 : at + 2], known)
        elif optional or not known.letters.isdisjoint(arg):
            is_value = _cluster(found, arg, args[at + 1 : at + 2], known, optional)
        else:
            flags += map(_AS_FLAG, arg[1:])
    found.first = len(args) if first < 0 else first
    return found


_AS_FLAG = "-".__add__


class _Valued(NamedTuple):
    """The options that take a value, of one letter and others."""

    names: frozenset[str]
    letters: frozenset[str]
    has_long: bool


@lru_cache(maxsize=512)
def _known(valued: str) -> _Valued:
    names = frozenset("-" + word for word in valued.split())
    letters = frozenset(name[1] for name in names if len(name) == 2)
    return _Valued(names, letters, any(name[:2] == "--" for name in names))


def _long(found: Options, arg: str, following: Sequence[str], known: _Valued) -> bool:
    """Read a long option; whether the word behind it, `following`, is its value."""
    name, equals, value = arg.partition("=")
    found.flags.append(name)
    if equals:
        found.values.setdefault(name, []).append(value)
    elif name in known.names:
        found.values.setdefault(name, []).append(following[0] if following else "")
        return True
    if known.has_long and name[:2] == "--" and name not in known.names:
        # getopt accepts a prefix. Without "=" the word may as well be an operand.
        for full in _completions(name, known.names, attached=bool(equals)):
            held = value if equals or not following else following[0]
            found.values.setdefault(full, []).append(held)
    return False


@lru_cache(maxsize=1024)
def _completions(name: str, wanted: frozenset[str], *, attached: bool) -> tuple[str, ...]:
    """Return the options with a value that the long option `name` may abbreviate."""
    if len(name) < 3:
        return ()
    fulls = (full.removesuffix("=") for full in wanted if attached or full[-1] != "=")
    return tuple(sorted(full for full in fulls if full.startswith(name) and full != name))


def _cluster(
    found: Options, arg: str, following: Sequence[str], known: _Valued, optional: str
) -> bool:
    """Read options of one letter in one word; whether the word behind them is a value too."""
    for at, letter in enumerate(arg[1:], start=2):
        flag = "-" + letter
        found.flags.append(flag)
        if letter in known.letters:
            attached = arg[at:]
            held = attached or (following[0] if following else "")
            found.values.setdefault(flag, []).append(held)
            return not attached
        if letter in optional:
            found.values.setdefault(flag, []).append(arg[at:])
            return False
    return False


Language = Literal["python", "node", "perl", "ruby", "lua", "php"]
