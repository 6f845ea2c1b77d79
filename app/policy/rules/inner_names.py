"""File names inside a word, for programs with a special notation.

`curl -F f=@.env`, `sqlite3 x '.read .env'`, `kubectl … --from-file=key=.env`. They are used to deny
or ask, and do not prevent an allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import names

_QUOTED = r"['\"]([^'\"\n]+)['\"]"
_BARE = r"['\"]?([^\s'\";]+)"
_SQL = (
    rf"(?i:\b(?:from|to|infile|outfile|attach(?:\s+database)?|import|read_\w+\s*\(|readfile\s*\("
    rf"|writefile\s*\(|load_file\s*\(|load_extension\s*\(|pg_read_\w+\s*\()\s*){_QUOTED}"
)
_PATTERNS = {
    program: [re.compile(pattern) for pattern in patterns]
    for programs, patterns in (
        (
            "sqlite3 sqlite duckdb litecli",
            (
                _SQL,
                rf"\.(?:read|import|open|output|once|backup|restore|save|load|excel|cd)\s+{_BARE}",
            ),
        ),
        (
            "psql pgcli usql",
            (
                _SQL,
                rf"\\(?:i|ir|include|include_relative|o|out|g|w|write|s|e|edit|cd)\s+{_BARE}",
                rf"(?i:\\copy\s.*?\b(?:from|to)\s+){_BARE}",
            ),
        ),
        ("mysql mariadb mycli", (_SQL, rf"(?i:\bsource\s+|\\\.\s+){_BARE}")),
        ("awk gawk mawk nawk busybox", (rf"(?:<|>)\s*{_QUOTED}",)),
        ("sed gsed perl", (r"(?:^|[;{}$\d/\n])\s*[rRwW]\s+([^\s;}]+)",)),
        (
            "vim vi nvim ex view ed emacs",
            (
                r"(?:^|[|:+])\s*(?:\d*|%)\s*(?:r|read|e|edit|w|write|sp|split|vs|vsplit|tabe|tabnew"
                rf"|so|source|find|view|f)!?\s+{_BARE}",
            ),
        ),
        (
            "lftp sftp ftp ncftp smbclient psftp tftp",
            (
                r"(?:^|[;\n'\"])\s*(?:m?put|reput|get|mget|cat|source|mirror|lcd|open)\s+"
                rf"(?:-\S+\s+)*{_BARE}",
            ),
        ),
        ("jq yq", (r"(?:\binput_filename\b)?(?:load|load_str)\s*\(\s*" + _QUOTED,)),
    )
    for program in names(programs)
}
_AT = re.compile(r"[=@<][@<]?([^\s=@<>;,'\"]+)")
_NAMES_NO_FILE = frozenset(names("git gh echo printf ssh npm yarn pnpm pip grep rg ag cargo"))
_MAX_WORD = 4_000
_SHAPED = re.compile(r"[\w.~/*?\[\]{}$+-]+")


def names_inside(program: str, word: str) -> Iterator[str]:
    """Yield the files that `word` may name for `program`."""
    if len(word) > _MAX_WORD:
        return
    for pattern in _PATTERNS.get(program, ()):
        for match in pattern.finditer(word):
            yield from (found for found in match.groups() if found)
    if program in _NAMES_NO_FILE or any(char.isspace() for char in word) or "://" in word:
        return
    for match in _AT.finditer(word):
        if _SHAPED.fullmatch(match[1]):
            yield match[1]
            if ":" in match[1]:
                yield match[1].partition(":")[0]
    if ":" in word and word[0] in "/.~":
        yield word.partition(":")[0]
