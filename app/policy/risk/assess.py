"""Entry point of the risk analysis of commands and programs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from app.policy.risk.call import UNKNOWN, Payload, RuleMatch, ask, deny
from app.policy.risk.code import kept_code
from app.policy.risk.collected import ANY_HOME
from app.policy.risk.engine import Assessor
from app.policy.risk.known import known
from app.policy.risk.model import Given, RiskReport, ShellName
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Unreadable

MAX_BYTES = 64 * 1024
MAX_WRITTEN = 50
_NEW = "\0"
"""Placeholder for previously unknown file content."""
MAX_KEPT = 4_096
"""Longest command, in characters, whose full report is cached: at most a few megabytes."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_JOINED_EMOJI = re.compile("(?<=[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d")
_JOINER = re.compile("[\u200c\u200d]")
_CURSIVE = re.compile(
    "[\u0620-\u064a\u066e-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0710-\u072f\u074d-\u077f\u07ca-\u07ea"
    "\u0840-\u0858\u0860-\u086a\u08a0-\u08c9\u1820-\u18aa\ua840-\ua871]"
)
"""Letters joined to the next one in writing: Arabic and related scripts, Mongolian."""
_KILLS_THE_VOWEL = 9
"""Combining class of signs at which Indic letters are joined, or not."""


def assess_command(
    command: str,
    *,
    shell: ShellName = "bash",
    cwd: str = "/workspace",
    home: str | None = None,
    given: tuple[Given, ...] = (),
) -> RiskReport:
    """Assess `command`. Never raises.

    Asks for a command above `MAX_BYTES` (UTF-8), with more than `MAX_SEGMENTS` commands, and for
    everything that it cannot parse. Without `home`, a home directory is still recognized by `~`,
    `$HOME` and its usual places.

    Args:
        given: files among the `runs` of an earlier report, assessed together with it.
    """
    if given:
        return _kept_given(command, shell, cwd, home, given)
    if len(command) <= MAX_KEPT:
        return _kept(command, shell, cwd, home)
    return _kept_long(command, shell, cwd, home)


def assess_program(
    text: str, language: str, *, cwd: str = "/workspace", home: str | None = None
) -> RiskReport:
    """Assess a program in `language`, such as `python`. Never raises; asks like
    `assess_command`.
    """
    assessor = Assessor(home or ANY_HOME)
    scope = ShellScope({"HOME": assessor.home}, cwd, assessor.home)
    program = Payload(language, text=text)
    return _read(assessor, text, scope, lambda: assessor.program(program, scope))


def _assess(
    command: str, shell: ShellName, cwd: str, home: str | None, given: tuple[Given, ...] = ()
) -> RiskReport:
    assessor = Assessor(home or ANY_HOME, given)
    for hit in hidden_characters(command):
        assessor.found(hit, None)
    scope = ShellScope(
        {"HOME": assessor.home, "IFS": " \t\n", "SHELL": "/bin/bash"}, cwd, assessor.home
    )
    handed = {one.path: one.text for one in given if one.is_data}
    scope.files.update(handed)
    lines = command.replace("\r\n", "\n")
    return _read(assessor, command, scope, lambda: assessor.text(lines, scope, shell))


def _read(
    assessor: Assessor, text: str, scope: ShellScope, walk: Callable[[], object]
) -> RiskReport:
    """Return the report of a walk; texts that are too long or unparsable ask."""
    before = scope.files.copy()
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        assessor.found(ask("too_long", f"longer than {MAX_BYTES} bytes"), None)
        return assessor.report()
    try:
        walk()
        assessor.finish(scope)
    except Unreadable as reason:
        assessor.found(ask("unreadable", str(reason)), None)
    except RecursionError:
        assessor.found(ask("unreadable", "nested too deeply"), None)
    report = assessor.report()
    written = [
        path
        for path, text in scope.files.items()
        if path.startswith("/") and UNKNOWN not in path and before.get(path, _NEW) != text
    ]
    if not (written or assessor.runs):
        return report
    runs, judged = tuple(assessor.runs), tuple(assessor.judged)
    return replace(report, written=tuple(written[:MAX_WRITTEN]), runs=runs, judged=judged)


@lru_cache(maxsize=512)
def _kept(command: str, shell: ShellName, cwd: str, home: str | None) -> RiskReport:
    """Return the cached report, which depends only on the arguments."""
    return _assess(command, shell, cwd, home)


@lru_cache(maxsize=64)
def _kept_given(
    command: str, shell: ShellName, cwd: str, home: str | None, given: tuple[Given, ...]
) -> RiskReport:
    """Return the cached report for given files, whose content is part of the key."""
    return _assess(command, shell, cwd, home, given)


@lru_cache(maxsize=4)
def _kept_long(command: str, shell: ShellName, cwd: str, home: str | None) -> RiskReport:
    """Return the cached report of a long command, kept only for repeated use in one call."""
    return _assess(command, shell, cwd, home)


def forget() -> None:
    """Empty the caches, for measurements only."""
    _kept.cache_clear()
    _kept_long.cache_clear()
    _kept_given.cache_clear()
    known.cache_clear()
    kept_code.cache_clear()


def hidden_characters(command: str) -> Iterator[RuleMatch]:
    # Fast check for the remaining usual characters, without line ends and tabs.
    if command.isascii() and command.replace("\n", "").replace("\t", "").isprintable():
        return
    if match := _CONTROL.search(command):
        yield deny("control_character", f"contains the control character {match.group()!r}")
    if match := _HIDDEN.search(_JOINER.sub(_kept_joiner, _JOINED_EMOJI.sub("", command))):
        shown = f"U+{ord(match.group()):04X}"
        yield deny("hidden_character", f"contains the invisible or bidirectional character {shown}")


def _kept_joiner(joiner: re.Match[str]) -> str:
    """Return the joiner itself, or nothing if a script needs it to spell a word."""
    text = joiner.string
    before = text[joiner.start() - 1 : joiner.start()]
    letter = text[: joiner.start()].rstrip(_MARKS)[-1:]
    after = text[joiner.end() : joiner.end() + 1]
    if _KILLS_THE_VOWEL in map(unicodedata.combining, before + after):
        return ""
    if joiner.group() == "\u200d":
        return "" if _CURSIVE.match(letter) else joiner.group()
    # A Persian ending is separated from any word: of its own letters, others, or digits.
    return "" if letter.isalnum() and _CURSIVE.match(after) else joiner.group()


_MARKS = "".join(
    map(chr, [*range(0x610, 0x61B), *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6ED)])
)
