"""Compiled programs: commands and deletions spelled out in their text.

Programs in these languages are written and run all day, so only visible harm is reported, and
nothing for unknown parts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from app.policy.risk.call import UNKNOWN, Answer, Stream, run, script

_TEXT = r"\"((?:[^\"\\\n]|\\.)*)\""
_STARTS = {
    "rust": re.compile(
        rf"\bCommand::new\s*\(\s*{_TEXT}\s*\)(?P<more>(?:\s*\.\s*args?\([^;]*?\))*)"
    ),
    "go": re.compile(
        rf"\bexec\.Command(?:Context)?\s*\((?:\s*\w+\s*,)?\s*{_TEXT}(?P<more>[^;\n]*)"
    ),
}
_REMOVES = {
    "rust": re.compile(rf"\bremove_(?P<all>dir_all|file|dir)\s*\(\s*{_TEXT}"),
    "go": re.compile(rf"\bos\.Remove(?P<all>All)?\s*\(\s*{_TEXT}"),
}
_WRITES = {
    "rust": re.compile(rf"\b(?:fs::write|File::create)\s*\(\s*{_TEXT}"),
    "go": re.compile(rf"\bos\.(?:WriteFile|Create)\s*\(\s*{_TEXT}"),
}
_ANY_TEXT = re.compile(_TEXT)
_UNTOLD = re.compile(r"\.args?\(\s*(?![\s\[&\"])|,\s*[A-Za-z_]")
COMPILED = frozenset(_STARTS)


def assess_compiled(language: str, text: str) -> Iterator[Answer]:
    """Yield findings for a program in one of `COMPILED`."""
    bare = re.sub(r"(?m)//.*$|/\*(?s:.*?)\*/", " ", text) if "//" not in _joined(text) else text
    for match in _STARTS[language].finditer(bare):
        words = [match[1], *_ANY_TEXT.findall(match["more"])]
        more = [UNKNOWN] if _UNTOLD.search(match["more"]) else []
        yield run([*(word.replace('\\"', '"') for word in words), *more])
    for match in _REMOVES[language].finditer(bare):
        tree = match["all"] in {"dir_all", "All"}
        yield run(["rm", "-rf" if tree else "-f", "--", match[2]])
    for match in _WRITES[language].finditer(bare):
        yield script(f"cat > {shlex.quote(match[1])}", stdin=Stream(None))


def _joined(text: str) -> str:
    """Return the texts of a program, in which an address may resemble a comment."""
    return " ".join(_ANY_TEXT.findall(text))
