"""SQL statements that destroy data, in the dialects that database clients take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, Stream, ask, script

_NAMES = r"(?P<name>\"[^\"]*\"|`[^`]*`|\[[^\]]*\])"
_DOLLAR = r"(?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"
_COMMENT = r"/\*!\d*(?P<version>.*?)\*/|/\*.*?\*/"
_ESCAPED = r"'(?>(?:[^'\\]|''|\\.)*)(?:'|\\?\Z)"
_PLAIN = r"(?P<text>'(?>(?:[^']|'')*)(?:'|\Z))"
_STANDARD = re.compile(
    rf"{_COMMENT}|--[^\n]*|{_DOLLAR}|\b[eE]{_ESCAPED}|{_PLAIN}|{_NAMES}",
    re.DOTALL,
)
_OWN = rf"{_COMMENT}|--(?=\s|$)[^\n]*|\#[^\n]*|(?P<text>{_ESCAPED})|{_NAMES}"
_MYSQL = re.compile(rf"{_OWN}|(?P<dollar>(?!))", re.DOTALL)
"""MySQL reads a backslash in a text, `#` and `--` in its own way, and has no `$$` texts."""
_LIKE_MYSQL = re.compile(rf"{_OWN}|{_DOLLAR}", re.DOTALL)
_ALWAYS = r"\bwhere\b\s*\(?\s*(?:true|1|(?P<same>[\w.']+)\s*=\s*(?P=same))\s*\)?\s*$"
"""A condition that every row meets."""
_DANGER: list[tuple[str, str]] = [
    (r"drop\b", "drops objects"),
    (r"truncate\b", "empties tables"),
    (
        r"remove\s+(?:table|namespace|database|field|index|user|access|event|"
        r"function)\b",
        "drops objects",
    ),
    (r"alter\b.*\b(?:drop|delete|truncate)\b", "drops part of a table"),
    (r"(?:with\b.*)?delete\b(?!.*\bwhere\b)", "deletes every row"),
    (r"(?:with\b.*)?update\b(?=.*\bset\b)(?!.*\bwhere\b)", "changes every row"),
    (
        rf"(?:with\b.*)?(?:delete|update)\b.*{_ALWAYS}",
        "deletes or changes every row",
    ),
    (
        r"do\b|execute\b|exec\b|prepare\b|declare\b|call\b.*\bexec",
        "runs statements created at run time",
    ),
    (r"create\s+(?:or\s+replace\s+)?(?:user|role|login)\b", "creates an account"),
    (r"alter\s+(?:user|role)\b.*\b(?:superuser|password|createrole)\b", "changes accounts"),
    (r"set\s+(?:global|persist)\b|alter\s+system\b", "changes the server's settings"),
    (r"copy\b.*\bprogram\b", "runs a program on the database server"),
    (r"(?:revoke|grant)\b", "changes permissions"),
    (
        r"reset\s+(?:master|slave|replica)\b|purge\b|flush\b.*\b(?:logs|privileges)\b",
        "deletes logs",
    ),
    (r"shutdown\b|detach\b", "stops or detaches a database"),
    (r"(?:create|replace)\b.*\breplace\s+table\b|replace\s+table\b", "replaces a table"),
    (r"reindex\b.*\bforce\b|vacuum\b.*\binto\b", "rewrites the database"),
]
_PATTERNS = [(re.compile(pattern, re.DOTALL), why) for pattern, why in _DANGER]
_META = re.compile(
    r"^[^\S\n]*+(?:\\!|\.shell\b|\.system\b|\.sh\b|!!|!(?=\w)|system\b|\\P\s|pager\s)\s*(.*)$"
    r"|^[^\S\n]*+\\\w[^`\n]*`([^`\n]+)`|\\gx?\s*(?:\([^)\n]{0,200}\)\s*)?\|([^\n]+)",
    re.MULTILINE,
)
_PIPED = re.compile(
    r"(?m)^[^\S\n]*+(?:\\[ogw]\w*\s*\||\.(?:once|output|import|read)\s+['\"]?\|)\s*([^'\"\n]+)"
)
_EXECUTES = re.compile(r"\\gexec\b")
_COPY = re.compile(r"(?m)^[^\S\n]*+\\copy\b")
_CLIENTS_OWN = re.compile(r"(?m)^[^\S\n]*+(?:\\(?!g)\w|\.[a-z])[^\n]*$")
_STATEMENTS = re.compile(
    r";|\\g\w*|(?m:^go\s*$)|\bdelimiter\s+\S+|\bbegin\b|\bexplain\s+analyze\b|\bas\s*\(|\bthen\b|"
    r"\\c(?:onnect)?\s+\S+"
)
_SPACES = re.compile(r"\s+")
_ANYWHERE = re.compile(
    r"\bxp_cmdshell\b|\bsys_exec\b|\blo_(?:unlink|import|export)\b|"
    r"\bpg_read_\w*file\b|\bload_file\b|\bshellfs\b|\bpg_terminate_backend\b|"
    r"\binto\s+(?:outfile|dumpfile)\b"
)


def assess_sql(text: str, *, mysql: bool) -> Iterator[Answer]:
    """Findings for one or more statements; client commands that start a shell are payloads.

    For a client that is not known to be MySQL's, both readings of its quotes count.
    """
    for meta in _META.finditer(text):
        yield script(meta.group(1) or meta.group(2) or meta.group(3) or "")
    for piped in _PIPED.findall(text):
        yield script(piped, stdin=Stream(None))
    if _EXECUTES.search(text):
        yield ask("opaque_code", "runs the result of a query as SQL")
    # A client's own commands end with their line; \copy is one that SQL patterns know.
    text = _CLIENTS_OWN.sub(";", _COPY.sub(";copy", text))
    readings = [
        _plain(text, tokens) for tokens in ((_MYSQL,) if mysql else (_STANDARD, _LIKE_MYSQL))
    ]
    if any("\\!" in plain for plain in readings):
        yield from (script(line) for line in re.findall(r"\\!\s*([^\n]+)", text))
    for plain in dict.fromkeys(readings):
        yield from _statements(plain)


def _statements(plain: str) -> Iterator[Answer]:
    if match := _ANYWHERE.search(plain):
        yield ask("sql", f"SQL uses {match.group()}")
    for piece in [*_STATEMENTS.split(plain), plain]:
        statement = piece.strip().lstrip("(").lstrip()
        for pattern, why in _PATTERNS:
            if pattern.match(statement):
                yield ask("sql", f"SQL {why}")
                break


def _plain(text: str, tokens: re.Pattern[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match.group("version") is not None:
            return f" {_plain(match.group('version'), tokens)} "
        if match.group("name") is not None:
            return " quoted_name "
        if not match.group().endswith("'") and "'" in match.group()[:2]:
            # A text that does not end is none, in this reading.
            return f" {match.group()[1:]}"
        if match.group("text") or match.group("dollar") or match.group()[:1] in "eE":
            return " '' "
        return " "

    return _SPACES.sub(" ", tokens.sub(replace, text)).strip().lower()
