"""Clients of databases that are in no table: the statements in their words and their input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from app.policy.risk.call import Answer, Call, ask, names, script
from app.policy.risk.model import RiskLevel

_STATEMENT = re.compile(
    r"\s*(?:drop\s+(?:table|database|schema|view|index|user|role|stream|keyspace|type|sequence|"
    r"function|procedure|tablespace|collection|space|graph|materialized|external|if)\b|"
    r"truncate\s+(?:table\s+)?[\w.\"`]+\s*(?:;|cascade|$)|delete\s+from\s+[\w.\"`]+|"
    r"alter\s+(?:table|user|role|database)\s+\S)",
    re.IGNORECASE,
)
_TYPED = re.compile(
    r"(?im)^[^\S\n]*(?:drop|truncate|delete|destroy|purge|erase|disable|remove)\s+\S[^\n]*$"
)
_TAKES_COMMANDS = re.compile(r"sql|shell|(?:[a-z]|-)sh$|cli$|console|ql$|db|^(?:rman|bteq|hbase)$")
_TEXTS = frozenset(
    names("-m --message -t --title -b --body -F --file --description --notes --summary --subject")
)
"""What stands behind these is said to people."""
_SPEAKS = frozenset(
    names(
        "echo printf log say cowsay notify-send grep egrep fgrep rg ag ack sed awk git hg gh glab "
        "logger espeak figlet wall write mail mailx curl wget http jq yq fzf tee cat diff"
    )
)


def statements(call: Call) -> Iterator[Answer]:
    """What an unknown client is given to run."""
    if call.name in _SPEAKS:
        return
    for before, word in pairwise(["", *call.args]):
        if before not in _TEXTS and _STATEMENT.match(word):
            yield script(word, "sql")
    text = call.stdin.text if call.stdin is not None and not call.stdin.file else None
    if text is None:
        return
    if _STATEMENT.match(text):
        yield script(text, "sql")
    elif _TAKES_COMMANDS.search(call.name) and _TYPED.search(text):
        why = f"{call.name} is given a command that may destroy something"
        yield ask("unknown_destroy", why, RiskLevel.MEDIUM)
