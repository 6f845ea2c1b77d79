"""SQL statements that destroy data, in the dialects of database clients."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, Stream, ask, script

_ESCAPED = r"'(?>(?:[^'\\]|''|\\.)*)(?:'|\\?\Z)"
_PLAIN = r"(?P<text>'(?>(?:[^']|'')*)(?:'|\Z))"
_OPENS = r"(?P<comment>/\*)(?P<version>!\d*)?|(?P<name>[\"`\[])"
_DOLLAR = r"(?P<tag>\$\w*\$)"
_STANDARD = re.compile(rf"{_OPENS}|--[^\n]*|{_DOLLAR}|\b[eE]{_ESCAPED}|{_PLAIN}", re.DOTALL)
_OWN = rf"{_OPENS}|--(?=\s|$)[^\n]*|\#[^\n]*|(?P<text>{_ESCAPED})"
_MYSQL = re.compile(rf"{_OWN}|(?P<tag>(?!))", re.DOTALL)
"""MySQL interprets backslashes in texts, `#` and `--` differently, and has no `$$` texts."""
_LIKE_MYSQL = re.compile(rf"{_OWN}|{_DOLLAR}", re.DOTALL)
_CLOSING = {"/*": "*/", "[": "]"}
"""What ends a token, where it is not what it begins with."""
_ALWAYS = re.compile(
    r"\bwhere\b\s*\(?\s*(?:true|1|(?P<same>[\w.']+)\s*=\s*(?P=same))\s*\)?\s*$", re.DOTALL
)
"""Condition that every row meets."""
_ROWS = r"(?:with|delete|update)\b"
"""Statements that delete or change rows: `_every_row` says whether all of them."""
_DANGER: list[tuple[str, str]] = [
    (r"drop\b", "drops objects"),
    (r"truncate\b", "empties tables"),
    (
        r"remove\s+(?:table|namespace|database|field|index|user|access|event|"
        r"function)\b",
        "drops objects",
    ),
    (r"alter\b.*\b(?:drop|delete|truncate)\b", "drops part of a table"),
    (_ROWS, ""),
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
    """Yield findings for one or more statements; client commands that start a shell are payloads.

    For unknown clients, both interpretations of quotes apply.
    """
    for meta in _META.finditer(text):
        yield script(meta.group(1) or meta.group(2) or meta.group(3) or "")
    for piped in _PIPED.findall(text):
        yield script(piped, stdin=Stream(None))
    if _EXECUTES.search(text):
        yield ask("opaque_code", "runs the result of a query as SQL")
    # A client's own commands end with their line; \copy is one that the SQL patterns cover.
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
            if pattern.match(statement) and (what := why or _every_row(statement)):
                yield ask("sql", f"SQL {what}")
                break


_VERB = re.compile(r"(?P<delete>delete)\b|update\b")
_SET, _WHERE = re.compile(r"\bset\b"), re.compile(r"\bwhere\b")


def _every_row(statement: str) -> str:
    """What a statement does to every row, in words; "" where it only does it to some.

    Each of its verbs is one, as behind `with`; each keyword is looked for once, since a statement
    may hold thousands of them.
    """
    verbs = list(_VERB.finditer(statement)) if statement.startswith("with") else []
    verbs = verbs or [found for found in [_VERB.match(statement)] if found]
    last_set = max((found.start() for found in _SET.finditer(statement)), default=-1)
    last_where = max((found.start() for found in _WHERE.finditer(statement)), default=-1)
    unbound = [verb for verb in verbs if verb.end() > last_where]
    if any(verb["delete"] for verb in unbound):
        return "deletes every row"
    if any(not verb["delete"] and verb.end() <= last_set for verb in unbound):
        return "changes every row"
    always = verbs and _ALWAYS.search(statement, verbs[0].end())
    return "deletes or changes every row" if always else ""


def _plain(text: str, tokens: re.Pattern[str]) -> str:
    """The text without comments and with one word for each text and each quoted name.

    What has no end is none of these. That is found out once for each kind, and not again for
    every place where one might begin.
    """
    pieces: list[str] = []
    endless: set[str] = set()
    kept = at = 0
    while match := tokens.search(text, at):
        opener = match["comment"] or match["name"] or match["tag"]
        end = match.end()
        if opener:
            closer = _CLOSING.get(opener, opener)
            end = -1 if opener in endless else text.find(closer, match.end())
            if end < 0:
                endless.add(opener)
                at = match.start() + 1
                continue
            end += len(closer)
        pieces += text[kept : match.start()], _put(match, text[match.end() : end - 2], tokens)
        kept = at = end
    return _SPACES.sub(" ", "".join([*pieces, text[kept:]])).strip().lower()


def _put(match: re.Match[str], held: str, tokens: re.Pattern[str]) -> str:
    """What stands for a token; `held` is what it holds where it is a comment."""
    if match["version"] is not None:
        return f" {_plain(held, tokens)} "
    if match["name"]:
        return " quoted_name "
    token = match.group()
    if not token.endswith("'") and "'" in token[:2]:
        # A text that does not end is none, in this reading.
        return f" {token[1:]}"
    return " '' " if match["text"] or match["tag"] or token[:1] in "eE" else " "
