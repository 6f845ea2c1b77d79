"""Recipes that `make` and `just` run: only those of the requested targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.policy.risk.call import Answer, CommandCall, options, script

_RULE = re.compile(r"([^\s:=#][^:=#]*?)\s*::?(?![:=])\s*([^=;#]*?)(?:;(.*))?(?:#.*)?")
_JUST_RULE = re.compile(r"@?([A-Za-z_][\w-]*)((?:\s+[^:]*)?):(?!=)\s*([^#]*)(?:#.*)?")
_ASSIGNED = re.compile(r"(?:export\s+|override\s+)?([\w.-]+)\s*(?::{0,3}|\?|\+|!)=\s*(.*)")
_NAMED = re.compile(r"\$[({]([\w.-]+)[)}]|(?<!\$)\$([A-Za-z])(?!\w)")
_DEFINED = re.compile(
    r"^define[ \t]+([\w.-]+)[ \t]*=?[ \t]*\n(.*?)^endef", re.MULTILINE | re.DOTALL
)
_CALLED = re.compile(r"\$[({][a-z-]+\s[^()]*[)}]")
_SHELL = re.compile(r"\$\(shell\s|^[\w.-]+\s*!=\s*(.+)$", re.MULTILINE)
_JUST_VALUE = re.compile(r"\{\{.*?\}\}")
_MAKE_TELLS = ("-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-v", "--version")
_JUST_TELLS = ("-l", "--list", "--summary", "-s", "--show", "--dump", "-n", "--dry-run", "--fmt")
"""Options with which no recipe runs."""
_MOST_DEPTH = 6
_MOST_TARGETS = 300


@dataclass(slots=True)
class _Target:
    needs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Recipes:
    targets: dict[str, _Target] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=lambda: {"RM": "rm -f", "MAKE": "make"})
    first: str = ""


def recipes(call: CommandCall, text: str, *, just: bool = False) -> Iterator[Answer]:
    """Yield the commands of the targets named in `call`, and of their prerequisites."""
    valued = "f C j I o W l E -file -makefile -directory -eval -jobs d -justfile -set"
    given = options(call.args, valued)
    goals = [word for word in given.rest if "=" not in word]
    known = _read(text.replace("\\\n", " "), just=just)
    if not just:
        for found in _SHELL.finditer(text):
            command = found[1] or _closed(text, found.end())
            yield script(_line(command, "", known))
    if given.has(*(_JUST_TELLS if just else _MAKE_TELLS)):
        return
    waiting, done = goals or [known.first], set[str]()
    while waiting and len(done) < _MOST_TARGETS:
        name = waiting.pop()
        for key in (name, *(key for key in known.targets if "%" in key and _fits(key, name))):
            target = known.targets.get(key)
            if target is None or key in done:
                continue
            done.add(key)
            waiting += target.needs
            for line in target.lines:
                yield script(_JUST_VALUE.sub("$VALUE", line) if just else _line(line, name, known))


def _closed(text: str, start: int) -> str:
    """Return the text up to the closing bracket of one opened before `start`."""
    depth = 1
    for at in range(start, min(len(text), start + 2_000)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0 or text[at] == "\n":
            return text[start:at]
    return text[start : start + 2_000]


def _fits(pattern: str, name: str) -> bool:
    before, _, after = pattern.partition("%")
    return name.startswith(before) and name.endswith(after)


def _read(text: str, *, just: bool) -> _Recipes:
    known, current = _Recipes(), list[_Target]()
    for name, body in _DEFINED.findall(text) if not just else ():
        known.values[name] = body.strip()
    for line in text.split("\n"):
        if line[:1] == "\t" or (just and line[:1] == " "):
            _add(line, current)
        elif (match := _ASSIGNED.fullmatch(line.strip())) and not just:
            known.values[match[1]] = match[2].strip()
        elif match := (_JUST_RULE if just else _RULE).fullmatch(line):
            current = _targets(match, known, just=just)
        elif line.strip() and line[:1] != "#" and not line.startswith(("if", "else", "endif")):
            current = []
    for target in known.targets.values():
        needs = " ".join(target.needs)
        target.needs = _expanded(needs, known.values).split() if "$" in needs else target.needs
    return known


def _add(line: str, targets: Iterable[_Target]) -> None:
    bare = line.strip().lstrip("@+-")
    if bare and bare[0] != "#":
        for target in targets:
            target.lines.append(bare)


def _targets(match: re.Match[str], known: _Recipes, *, just: bool) -> list[_Target]:
    """Return the targets of a line with their prerequisites."""
    words = match[1].split()
    needs = match[3 if just else 2].replace("|", " ").split()
    found = [known.targets.setdefault(word, _Target()) for word in words]
    for target in found:
        target.needs += needs
    if not just and match[3]:
        _add(match[3], found)
    if not known.first and words[0][0] != "." and "%" not in words[0]:
        known.first = words[0]
    return found


def _line(line: str, target: str, known: _Recipes) -> str:
    text = line.replace("$(@D)", ".").replace("$@", target)
    text = re.sub(r"\$[<^*?+|%]|\$\([<^*?+%][DF]?\)", "$MADE", text)
    return _expanded(text, known.values).replace("$$", "$")


def _expanded(text: str, values: dict[str, str]) -> str:
    """Return `text` with the file's variables; those known only to make become shell variables."""
    for _ in range(_MOST_DEPTH):
        replaced = _NAMED.sub(lambda match: _value(match[1] or match[2], values), text)
        replaced = _CALLED.sub("$MADE", replaced)
        if replaced == text or len(replaced) > 20_000:
            break
        text = replaced
    return text


def _value(name: str, values: dict[str, str]) -> str:
    return values.get(name, "$MADE_" + re.sub(r"\W", "_", name))


_TASK = re.compile(r"^  ([\w:.-]+):[ \t]*(.*)$", re.MULTILINE)
_COMMAND = re.compile(
    r"^\s*-\s+(?:cmd:\s*)?(?!task:)(.+)$|\bcmds?:(?!\s*(?:\[|\||$))[ \t]*(.+)$", re.MULTILINE
)
_LISTED = re.compile(r"\bcmds:\s*\[([^\]\n]*)\]")
_NEEDED = re.compile(r"\btask:\s*([\w:.-]+)|\bdeps:\s*\[([^\]\n]*)\]")


def tasks(call: CommandCall, text: str) -> Iterator[Answer]:
    """Yield the commands of the tasks of a `Taskfile.yml` named in `call`."""
    pieces = _TASK.split(text)
    blocks = {
        name: f"{rest}\n{body}"
        for name, rest, body in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
    }
    given = options(call.args, "t d -taskfile -dir")
    if given.has("-l", "--list", "-a", "--list-all", "--summary", "-n", "--dry"):
        return
    waiting, done = given.rest or ["default"], set[str]()
    while waiting and len(done) < _MOST_TARGETS:
        name = waiting.pop()
        if name in done or name not in blocks:
            continue
        done.add(name)
        block = blocks[name]
        for single, several in _NEEDED.findall(block):
            waiting += [single] if single else re.split(r"[\s,'\"]+", several)
        lines = [first or second for first, second in _COMMAND.findall(block)]
        lines += [word for listed in _LISTED.findall(block) for word in listed.split(",")]
        for line in lines:
            yield script(_JUST_VALUE.sub("$VALUE", line.strip().strip("'\"")))
