"""Files that a command runs: their text, assessed as part of the command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

import orjson

from app.core.git_config import settings
from app.policy.risk import kinds
from app.policy.risk.call import Answer, CommandCall, ask, is_pattern, names, options, run, script
from app.policy.risk.code import LANGUAGES, PYTHON_FILE
from app.policy.risk.model import FileRun, Given
from app.policy.risk.recipes import recipes, tasks

HANDED_IN = frozenset([kinds.READ, kinds.COPIED])
"""Kinds whose text the rules find themselves, as if the script had written it."""


OF_PARTS = frozenset([kinds.PACKAGE, kinds.MAKEFILE, kinds.JUSTFILE, kinds.TASKFILE])
"""Kinds of files of which a command runs a part."""


def answers_of(call: CommandCall, how: FileRun, given: Given) -> Iterator[Answer]:
    """Yield the effects of `call` running the file `given` as `how`."""
    text, direct = given.text, given.path == how.path or is_pattern(how.path)
    language = how.kind
    if language == kinds.MAKEFILE:
        pass
    elif language == kinds.TESTS or not direct:
        direct, language = False, kinds.language_by_name(given.path) or ""
    elif language == kinds.PROGRAM and text is not None:
        language = kinds.language_of(given.path, text)
    if text is None or len(text) > _LONGEST.get(language, _LONGEST_OTHER):
        why = given.why or "is too long to be analyzed"
    elif language not in _JUDGED:
        why = f"is {language} code, which is not analyzed"
    else:
        yield from _judged(call, language, given.path, text)
        return
    # Imports are too many to ask about all unreadable ones.
    if direct:
        why = f"runs {given.path}, which was written here and {why}"
        yield ask("unread_file", why)._replace(named=True)


def _judged(call: CommandCall, language: str, path: str, text: str) -> Iterator[Answer]:
    if language == kinds.PACKAGE:
        yield from _package(call, text)
    elif language == kinds.GIT:
        yield from _git_settings(call, text)
    elif language in {kinds.MAKEFILE, kinds.JUSTFILE}:
        yield from recipes(call, text, just=language == kinds.JUSTFILE)
    elif language == kinds.TASKFILE:
        yield from tasks(call, text)
    elif language in _LINES:
        yield from (script(line) for line in _LINES[language].findall(text))
    elif language == kinds.SOURCED:
        yield script(text, here=True, given=(path, *call.args[1:]))
    elif language == kinds.SHELL:
        yield script(text, given=_arguments(call, path), stdin=call.stdin)
    else:
        if call.name == "rake":
            text = _RAKE_SHELL.sub("system", text)
        yield script(text, PYTHON_FILE if language == kinds.PYTHON else language)


_RAKE_SHELL = re.compile(r"\bsh\b(?=[\s(]*['\"])")
_LINES = {
    kinds.VIM: re.compile(r"(?m)^\s*:?(?:sil(?:ent)?!?\s+|exe\w*\s+['\"])?!\s*(.+?)['\"]?$"),
    kinds.GDB: re.compile(r"(?m)^\s*(?:shell|!)\s*(.+)$"),
}
"""Lines in command files that pass their rest to a shell."""
_LONGEST = {kinds.SHELL: 48_000, kinds.SOURCED: 48_000, kinds.PYTHON: 64_000, kinds.NODE: 40_000}
_LONGEST |= {
    kinds.MAKEFILE: 48_000,
    kinds.JUSTFILE: 48_000,
    kinds.PACKAGE: 64_000,
    kinds.GIT: 64_000,
}
_LONGEST |= {"powershell": 24_000, "cmd": 24_000, kinds.TASKFILE: 48_000}
_LONGEST |= {kinds.VIM: 48_000, kinds.GDB: 48_000}
_LONGEST_OTHER = 16_000
"""Maximum assessed characters, since the assessment blocks."""
_JUDGED = frozenset([*LANGUAGES, *_LONGEST])


def _arguments(call: CommandCall, path: str) -> tuple[str, ...]:
    """Return the name and the arguments of a shell script."""
    for at, word in enumerate(call.args):
        if call.at(word) == path:
            return (word, *call.args[at + 1 :])
    return (path, *call.args)


_RUNS_NAMED = frozenset(names("npm-run-all run-s run-p"))
_RUNS_ITSELF = frozenset(names("test start stop restart"))
_LIFE = {
    "install": "preinstall install postinstall prepublish preprepare prepare postprepare",
    "publish": "prepublishOnly prepack prepare postpack publish postpublish",
    "pack": "prepack prepare postpack",
    "version": "preversion version postversion",
}
_SAME = {
    **dict.fromkeys(names("i ci clean-install add in ins isntall"), "install"),
    **dict.fromkeys(names("t tst"), "test"),
    **dict.fromkeys(names("run-script rum urn"), "run"),
}


def _package(call: CommandCall, text: str) -> Iterator[Answer]:
    """Yield the scripts of a `package.json` that an npm command runs."""
    try:
        scripts = orjson.loads(text).get("scripts") or {}
    except (orjson.JSONDecodeError, AttributeError):
        return
    if not isinstance(scripts, Mapping):
        return
    words = options(
        call.args,
        "C w F -prefix -cwd -dir -workspace -filter -registry -userconfig -cache",
    ).rest
    wanted = _wanted(call.name, words)
    if call.name in _RUNS_NAMED:
        wanted = ((name, []) for name in scripts if any(fnmatchcase(name, word) for word in words))
    for name, more in wanted:
        for part in (f"pre{name}", name, f"post{name}"):
            command = scripts.get(part)
            if isinstance(command, str):
                rest = f" {shlex.join(more)}" if part == name and more else ""
                yield script(f"{command}{rest}")


def _wanted(program: str, words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the scripts by name, with the words passed on."""
    verb = _SAME.get(words[0], words[0]) if words else "install" if program != "npm" else ""
    rest = words[1:]
    if verb == "run":
        yield from ((rest[0], rest[1:]),) if rest else ()
    elif verb in _RUNS_ITSELF:
        yield verb, rest
    elif verb == "install" and rest:
        return
    elif verb in _LIFE:
        yield from ((name, []) for name in _LIFE[verb].split())
    elif program != "npm" and verb:
        yield verb, rest


_COMMANDS = re.compile(
    r"core\.(?:fsmonitor|sshcommand|editor|pager|gitproxy|alternaterefscommand|askpass)"
    r"|sequence\.editor|pager\.[\w-]+|diff\.external|diff\.\*\.(?:command|textconv)"
    r"|filter\.\*\.(?:clean|smudge|process)|merge\.\*\.driver|(?:diff|merge)tool\.\*\.cmd"
    r"|interactive\.difffilter|trailer\.\*\.(?:command|cmd)|gpg\.(?:\*\.)?program"
    r"|(?:remote|uploadpack)\.\*\.(?:uploadpack|receivepack)|credential\.(?:\*\.)?helper"
)
_NO_COMMAND = frozenset(names("true false yes no on off 0 1 cache store osxkeychain manager"))


def _git_settings(call: CommandCall, text: str) -> Iterator[Answer]:
    """Yield the commands that a repository's settings make git run."""
    for name, value in settings(text):
        command = value.strip().strip('"').replace('\\"', '"').replace("\\\\", "\\")
        if name.startswith("alias."):
            if name[6:] not in map(str.lower, call.args):
                continue
            yield script(command[1:]) if command[:1] == "!" else run(["git", *command.split()])
        elif _COMMANDS.fullmatch(name) and command.lower() not in _NO_COMMAND:
            yield script(command.removeprefix("!"))
