"""Words of a kind in an allow rule: a number, a version, a path, a branch or an address.

A glob also matches options, patterns of the shell and names such as `../x`; a typed word does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

WordType = Literal["number", "version", "path", "branch", "url"]

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.@+,\-]*"
_REF = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
MIDDLES: Mapping[WordType, str] = {
    "number": r"[0-9]{1,18}",
    "version": r"v?[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}"
    r"(?:[\-+][0-9A-Za-z.]{1,30}|[.]?(?:a|b|c|rc|dev|post|alpha|beta)[.]?[0-9]{0,4})?",
    # No part begins with a dot: neither `..` nor hidden files and folders such as `.git`.
    "path": rf"{_NAME}(?:/{_NAME})*",
    "branch": rf"{_REF}(?:/{_REF})*",
    # Nothing that a client expands, decodes or reads as another host.
    "url": r"(?:[A-Za-z0-9_~,=&?+\-]|\.(?:[A-Za-z0-9_~,=&?+\-])|/)*",
}
"""What may stand between the fixed texts, in the syntax that Python and RE2 share."""

SHARED_BRANCHES = frozenset(
    {
        *("main", "master", "trunk", "head", "develop", "development", "dev", "default"),
        *("staging", "stable", "production", "prod", "live", "release", "gh-pages"),
    }
)
"""Names that several people build on or deploy from; never a branch like any other."""

MAX_WORD = 1_000
_COMPILED = {kind: re.compile(text) for kind, text in MIDDLES.items()}


@dataclass(frozen=True, slots=True)
class TypedPattern:
    """Matcher of one word: fixed text, something of a kind, fixed text."""

    type: WordType
    begins: str = ""
    ends: str = ""

    def matches(self, word: str) -> bool:
        """Return whether the word is certainly of this kind."""
        fixed = len(self.begins) + len(self.ends)
        if not fixed <= len(word) <= MAX_WORD:
            return False
        if not (word.startswith(self.begins) and word.endswith(self.ends)):
            return False
        middle = word[len(self.begins) : len(word) - len(self.ends)]
        if _COMPILED[self.type].fullmatch(middle) is None:
            return False
        return self.type != "branch" or word.casefold() not in SHARED_BRANCHES

    @property
    def regex(self) -> str:
        """Return the same as an anchored RE2 pattern; a branch has none."""
        begins, ends = re.escape(self.begins), re.escape(self.ends)
        return f"^{begins}{MIDDLES[self.type]}{ends}$"
