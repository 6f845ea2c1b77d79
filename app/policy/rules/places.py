"""Paths in a call, and the path patterns of rules.

Paths are resolved as text: symbolic links are not followed. A path known only at run time is a
place without a path.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import re2

from app.policy.risk.call import names
from app.policy.risk.model import Segment
from app.policy.risk.parse import parse
from app.policy.risk.syntax import Lit, Redirect, Unreadable
from app.policy.rules.arguments import texts_of
from app.policy.rules.fields import as_text
from app.policy.rules.globs import GLOBBED, is_wider, overlaps
from app.policy.rules.inner_names import names_inside
from app.policy.rules.pattern_words import PatternWords, pattern_words
from app.policy.rules.words import MAX_WORDS, MAYBE, NO, YES, WordMatch

_PATH_FIELD = re.compile(
    r"(?:^|_)(?:path|paths|file|files|filename|filenames|dir|dirs|directory|directories|folder|"
    r"folders|cwd|root|source|destination|src|dst|dest|target|targets)$",
    re.IGNORECASE,
)
_DRIVE = re.compile(r"[A-Za-z]:/")
_HOMES = ("/root", "/home/*", "/Users/*")
_IN_HOME = re.compile(r"/(?:root|home/[^/]+|Users/[^/]+)(?=/|$)")
_PLAIN_OPTION = re.compile(r"-[A-Za-z0-9]{1,8}|--[\w-]+")
_NAMES_NO_FILE = frozenset(
    names(
        "echo printf test [ [[ true false : export local declare typeset read set unset "
        "shift return exit break continue kill sleep let expr seq date type"
    )
)
_SCRIPTS = re.compile(r"[<>]")
_DEFAULT = re.compile(r"\$\{\w+:?[-=]['\"]?([\w.~/+-]+)['\"]?\}")
_MAX_GLOBBED = 200
MAX_SCRIPTS = 200
_FEW_STARS, _SHORT_PATH = 3, 128


@dataclass(frozen=True, slots=True)
class CallPath:
    """Path that a call may access. None: unknown.

    Attributes:
        surely: False for a reading of a word that few programs would share (`-f.env`,
            `@.env`): good enough to deny or ask by, no hindrance to an allow.
        perhaps: it is one only in an unlikely case: a change of the directory fails, or a `*` or an
            unknown word becomes an option.
    """

    path: str | None
    surely: bool = True
    perhaps: bool = False


def resolve(path: str, cwd: str | None) -> str | None:
    """Return the absolute, normalized path; None if unknown."""
    if path.startswith(("/", "~")) or _DRIVE.match(path):
        normal = _normal(path)
        # `~/../x`: the location of a home is unknown here, and so are its siblings.
        return normal if normal[:1] == path[:1] else None
    return None if cwd is None else _normal(f"{cwd}/{path}")


def _normal(path: str) -> str:
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def word_places(segment: Segment, *, windows: bool, alone: bool = False) -> tuple[CallPath, ...]:
    """Return every path that the words after the program's name may refer to.

    Args:
        alone: no other command reads the matches.
    """
    program = segment.argv[0] if segment.argv else None
    name = "" if program is None else program.rsplit("/", 1)[-1]
    if name in _NAMES_NO_FILE:
        return ()
    found: dict[CallPath, None] = {}
    if program and "/" in program:
        found[CallPath(resolve(program, segment.cwd), surely=False)] = None
    looked_for = PatternWords() if windows else pattern_words(segment.argv, alone=alone)
    for at, word in enumerate(segment.argv[1:MAX_WORDS], 1):
        if at in looked_for.surely:
            continue
        text = word.replace("\\", "/") if windows and word is not None else word
        for place in _places_of_word(name, text, segment.cwd):
            perhaps = at in looked_for.perhaps
            found.setdefault(replace(place, perhaps=True) if perhaps else place)
    globbed = [place for place in found if place.path and GLOBBED.search(place.path)]
    for place in globbed[_MAX_GLOBBED:]:
        # Each is compared with every pattern, which is slow: beyond the limit they count as
        # unknown.
        del found[place]
    if len(segment.argv) > MAX_WORDS or len(globbed) > _MAX_GLOBBED:
        found[CallPath(None)] = None
    return tuple(found)


def _places_of_word(name: str, word: str | None, cwd: str | None) -> Iterator[CallPath]:
    """Every path that one word of a program may mean."""
    if word is None:
        if name != "cd":
            yield CallPath(None)
        return
    for reading, surely in _word_readings(word):
        yield CallPath(resolve(reading, cwd), surely)
    for inner in names_inside(name, word):
        yield CallPath(resolve(inner, cwd), surely=False)


def _word_readings(word: str) -> Iterator[tuple[str, bool]]:
    """Yield possible names in a word, and whether an allow must consider them."""
    option = word.startswith("-") and len(word) > 1
    if not option:
        yield word.removeprefix("file://"), True
        if word.startswith("@"):
            yield word[1:], False
        if not word.startswith("/") and ":" in word:
            yield word.split(":", 1)[1], False
    elif not _PLAIN_OPTION.fullmatch(word) and "=" not in word:
        yield word[2:], True
    elif not word.startswith("--") and len(word) > 2:
        yield word[2:], False
    if "=" in word:
        yield word.split("=", 1)[1], option


def elsewhere(segment: Segment, known: tuple[CallPath, ...], start: str) -> Iterator[CallPath]:
    """Yield the places of a command if it ran in the script's start directory."""
    if segment.cwd == start:
        return
    moved = segment._replace(cwd=start)
    for place in word_places(moved, windows=False):
        if place not in known:
            yield replace(place, perhaps=True)


def argument_places(values: Mapping[str, Any], cwd: str) -> tuple[CallPath, ...]:
    """Return paths under telling names, at any depth."""
    found: dict[CallPath, None] = {}
    for text, telling in texts_of(values, _PATH_FIELD):
        if text is None:
            found[CallPath(None)] = None
        elif telling:
            found[CallPath(resolve(text.replace("\\", "/"), cwd))] = None
            if "\\" in text:
                found[CallPath(resolve(text, cwd))] = None
    return tuple(found)


def redirected(
    command: str, segments: tuple[Segment, ...], cwd: str | None
) -> tuple[CallPath, ...]:
    """Return files opened by `>`, `<` and similar, including in scripts inside a command's words.

    The directory of a redirection is unknown here, so every directory of the script's commands
    counts.
    """
    texts = [command] if _SCRIPTS.search(command) else []
    texts += [word for s in segments for word in s.argv[1:] if word and _SCRIPTS.search(word)]
    texts = list(dict.fromkeys(texts))
    where = dict.fromkeys([cwd, *(segment.cwd for segment in segments)])
    found: dict[CallPath, None] = {}
    for default in _DEFAULT.findall(command)[:MAX_SCRIPTS]:
        # Value of a variable that nothing has set, in any command.
        for place in where:
            found[CallPath(resolve(default, place), surely=False)] = None
    if len(texts) > MAX_SCRIPTS:
        found[CallPath(None)] = None
    for text in texts[:MAX_SCRIPTS]:
        try:
            tree = parse(text)
        except (Unreadable, RecursionError):
            continue  # not a script, or one that asks as a whole
        for target in _targets(tree):
            for place in where:
                found[CallPath(None if target is None else resolve(target, place))] = None
    return tuple(found)


def _targets(tree: object) -> Iterator[str | None]:
    """Yield the files of every redirection below a node; None for non-literal ones."""
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Redirect) and not node.op.startswith("<<"):
            literal = all(isinstance(part, Lit) for part in node.target)
            text = "".join(part.text for part in node.target if isinstance(part, Lit))
            if not (node.op in {">&", "<&"} and re.fullmatch(r"\d*-?", text)):
                yield text if literal else None
        if isinstance(node, list | tuple):
            waiting.extend(node)
        elif is_dataclass(node):
            waiting.extend(getattr(node, item.name) for item in fields(node))


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Glob over paths: `*` stays in a directory, `**` does not. `/**` includes the directory.

    A pattern without leading `/` or `~/` is relative to the workspace.
    """

    text: str

    def match(self, place: CallPath, root: str) -> WordMatch:
        path = place.path
        if path is None:
            return MAYBE if place.surely else NO
        patterns = _ready(self.text, root)
        for pattern, _ in patterns:
            if pattern.fullmatch(path):
                return YES
        if GLOBBED.search(path):
            return MAYBE if any(overlaps(path, text) for _, text in patterns) else NO
        if path.startswith("~"):
            homes = [_IN_HOME.sub("~", text) for _, text in patterns if _IN_HOME.match(text)]
            return MAYBE if any(_compiled(home).fullmatch(path) for home in homes) else NO
        return NO

    def covers(self, place: CallPath, root: str) -> bool:
        """Return whether it matches any possible value of the place."""
        if self.match(place, root) is not YES or place.path is None:
            return False
        forms = (form for pattern, form in _ready(self.text, root) if pattern.fullmatch(place.path))
        return any(not is_wider(place.path, form) for form in forms)


def is_literal(place: CallPath) -> bool:
    """Return whether a pattern matches the place exactly if it matches the text of its path."""
    path = place.path
    return path is not None and not path.startswith("~") and not GLOBBED.search(path)


class PathRegex:
    """Compiled glob: fast for short texts, linear in long ones.

    Python's engine takes exponential time for many stars and a long path.
    """

    __slots__ = ("_linear", "_quick", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        few = pattern.count("*") <= _FEW_STARS
        self._quick = re.compile(pattern, re.DOTALL) if few else None
        self._linear: re2._Regexp | None = None

    @property
    def is_quick(self) -> bool:
        return self._quick is not None

    def fullmatch(self, path: str) -> bool:
        if self._quick is not None and len(path) <= _SHORT_PATH:
            return self._quick.fullmatch(path) is not None
        if self._linear is None:
            options = re2.Options()
            options.dot_nl, options.log_errors, options.max_mem = True, False, 64 << 20
            self._linear = re2.compile(self.pattern, options)
        return self._linear.fullmatch(as_text(path)) is not None


class PathUnion:
    """Union of globs."""

    __slots__ = ("_all", "_quick")

    def __init__(self, forms: Iterable[PathRegex]) -> None:
        self._all = tuple(forms)
        quick = all(form.is_quick for form in self._all)
        union = "|".join(dict.fromkeys(f"(?:{form.pattern})" for form in self._all))
        self._quick = re.compile(union, re.DOTALL) if quick else None

    def fullmatch(self, path: str) -> bool:
        if self._quick is not None and len(path) <= _SHORT_PATH:
            return self._quick.fullmatch(path) is not None
        return any(form.fullmatch(path) for form in self._all)


def union_of(texts: Iterable[str], root: str) -> PathUnion:
    """Return a matcher for the path of a literal place by any of the patterns."""
    return PathUnion(form for text in texts for form, _ in _ready(text, root))


@lru_cache(maxsize=8192)
def _ready(text: str, root: str) -> tuple[tuple[PathRegex, str], ...]:
    """Return a pattern's absolute forms in one workspace, compiled."""
    if text.startswith("~/"):
        forms = [text, *(home + text[1:] for home in _HOMES)]
    elif text.startswith("/") or _DRIVE.match(text):
        forms = [text]
    else:
        forms = [f"{_escaped(root.rstrip('/'))}/{text.removeprefix('./')}"]
    return tuple((_compiled(form), form) for form in forms)


@lru_cache(maxsize=1024)
def _escaped(root: str) -> str:
    return GLOBBED.sub("?", root)


@lru_cache(maxsize=8192)
def _compiled(pattern: str) -> PathRegex:
    pieces: list[str] = []
    body = pattern.removesuffix("/**")
    at = 0
    while at < len(body):
        if body.startswith("**/", at):
            pieces.append("(?:.*/)?")
            at += 3
        elif body.startswith("**", at):
            pieces.append(".*")
            at += 2
        elif body[at] == "*":
            pieces.append("[^/]*")
            at += 1
        elif body[at] == "?":
            pieces.append("[^/]")
            at += 1
        elif body[at] == "[" and (end := body.find("]", at + 2)) > 0:
            pieces.append(_class(body[at + 1 : end]))
            at = end + 1
        else:
            pieces.append(re.escape(body[at]))
            at += 1
    tail = "(?:/.*)?" if body != pattern else ""
    return PathRegex("".join(pieces) + tail)


def _class(inner: str) -> str:
    """Return the regular expression of `[inner]`, or of its text if it is not a character class."""
    negated = inner[0] in "!^" and len(inner) > 1
    listed = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", inner[1:] if negated else inner)
    made = f"[^/{listed}]" if negated else f"[{listed}]"
    try:
        re.compile(made)
    except re.error:
        return re.escape(f"[{inner}]")
    return made
