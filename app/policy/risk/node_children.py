"""Node programs that start other programs with literal commands.

If every use of `child_process` is a call with a literal command, the program is assessed by these
commands. With any other use it is assessed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.policy.risk.call import Payload, Stream, run, script

_TEXT = r"(?:\"[^\"\\\n]*\"|'[^'\\\n]*'|`[^`\\$]*`)"
_MODULE = r"['\"`](?:node:)?child_process['\"`]"
_LOADED = rf"(?:await\s++)?(?:require|import)\s*+\(\s*+{_MODULE}\s*+\)"
_SHELLED = ("exec", "execSync")
_STARTED = ("execFile", "execFileSync", "spawn", "spawnSync")
_FUNCTION = "|".join((*_SHELLED, *_STARTED))
_DECLARED = r"(?:\b(?:const|let|var)\s+)"
# No blank may be matched in two ways, so that mismatches fail immediately.
_TEXTS = rf"{_TEXT}\s*+(?:,\s*+{_TEXT}\s*+)*(?:,\s*+)?"
_NUMBER = r"\d[\d_]*+(?:\s*+\*\s*+\d[\d_]*+)*"
_SAFE_VALUE = rf"(?:{_TEXT}|{_NUMBER}|true|false|\[\s*+(?:{_TEXTS})?\])"
_KEYS = "stdio|encoding|cwd|timeout|maxBuffer|windowsHide|killSignal"
_OPTIONS = (
    rf"\{{\s*+(?:['\"]?(?:{_KEYS})['\"]?\s*+:\s*+{_SAFE_VALUE}\s*+(?:,\s*+(?=[\w'\"}}]))?)*\}}"
)
_GIVEN = (
    rf"\s*+\(\s*+(?P<command>{_TEXT})\s*+"
    rf"(?:,\s*+\[\s*+(?P<words>{_TEXTS})?(?P<list>\])\s*+)?"
    rf"(?:,\s*+(?P<options>{_OPTIONS})\s*+)?"
    r"(?=\)|,\s*+(?:(?:async\s++)?(?:\([\w\s,]*\)|\w++)\s*+=>|(?:async\s++)?function\b))"
)
_HELD = (
    (re.compile(rf"{_DECLARED}?(?<![\w.$])(\w+)\s*=\s*{_LOADED}\s*(?=[;,\n]|$)"), "module"),
    (re.compile(rf"\bimport\s+(?:\*\s+as\s+)?(\w+)\s+from\s*{_MODULE}"), "module"),
    (
        re.compile(rf"{_LOADED}\s*+\.\s*+then\s*+\(\s*+(?:\(\s*+)?(\w++)\s*+(?:\)\s*+)?=>"),
        "module",
    ),
    (re.compile(rf"{_DECLARED}\{{([^{{}}]*)\}}\s*=\s*{_LOADED}\s*(?=[;,\n]|$)"), "functions"),
    (re.compile(rf"\bimport\s*\{{([^{{}}]*)\}}\s*from\s*{_MODULE}"), "functions"),
    (
        re.compile(rf"{_DECLARED}(\w+)\s*=\s*{_LOADED}\s*\.\s*({_FUNCTION})\s*(?=[;,\n]|$)"),
        "function",
    ),
)
_WORD = re.compile(_TEXT)
_BOUND = re.compile(rf"\s*({_FUNCTION})(?:\s*(?::|\bas\b)\s*(\w+))?\s*")
_CWD = re.compile(rf"\bcwd['\"]?\s*:\s*({_TEXT})")
_LEADING = re.compile(r"child_process")


@dataclass
class Children:
    """Programs started by a text, and the text without those calls."""

    rest: str
    started: list[Payload] = field(default_factory=list)


def literal_children(text: str) -> Children | None:
    """Return the programs that a text starts; None if it uses `child_process` in another way."""
    if not _LEADING.search(text):
        return None
    modules, functions = set[str](), dict[str, str]()
    children = Children(_without_imports(text, modules, functions))
    for call, names in _calls(modules, functions):
        for match in call.finditer(children.rest):
            payload = _payload(names.get(match["name"], match["name"]), match)
            if payload is None:
                return None
            children.started.append(payload)
        children.rest = call.sub(' said(""', children.rest)
    left = "|".join(map(re.escape, ["child_process", *modules, *functions]))
    if re.search(rf"(?<![\w$.])(?:{left})(?![\w$])|child_process", children.rest):
        return None
    return children


def _without_imports(text: str, modules: set[str], functions: dict[str, str]) -> str:
    """Return the text without imports of the module, if all imported names are known."""
    for pattern, kind in _HELD:
        for found in pattern.finditer(text):
            if kind == "module":
                modules.add(found[1])
            elif kind == "function":
                functions[found[1]] = found[2]
            elif not _bind(found[1], functions):
                return text
        text = pattern.sub(" ", text)
    return text


def _bind(names: str, functions: dict[str, str]) -> bool:
    for name in filter(str.strip, names.split(",")):
        found = _BOUND.fullmatch(name)
        if found is None:
            return False
        functions[found[2] or found[1]] = found[1]
    return True


def _calls(
    modules: set[str], functions: dict[str, str]
) -> Iterator[tuple[re.Pattern[str], dict[str, str]]]:
    held = _LOADED
    if modules:
        held += rf"|(?<![\w.$])(?:{'|'.join(map(re.escape, modules))})(?:\.default)?"
    yield re.compile(rf"\(?(?:{held})\s*+(?:\)\s*+)?\.\s*+(?P<name>{_FUNCTION}){_GIVEN}"), {}
    if functions:
        names = "|".join(map(re.escape, functions))
        yield re.compile(rf"(?<![\w.$])(?P<name>{names}){_GIVEN}"), functions


def _payload(name: str, call: re.Match[str]) -> Payload | None:
    command, given = call["command"][1:-1], call["options"] or ""
    # With its own input passed on, the other program reads unknown text.
    stdin = Stream(None) if "stdio" in given else None
    where = _CWD.search(given)
    moves = where[1][1:-1] if where else None
    if name in _SHELLED:
        return None if call["list"] else script(command, stdin=stdin, moves=moves)
    words = [word[1:-1] for word in _WORD.findall(call["words"] or "")]
    return run([command, *words], stdin=stdin, moves=moves)
