"""Code given to unknown programs: statements, commands, lines for a shell.

A database client takes statements, a console its own commands, a tool for many hosts a command
line. Each is in one quoted word, or read from the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from app.policy.risk.call import Answer, CommandCall, RuleMatch, ask, names, script
from app.policy.risk.command import PRINTERS
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
_HELD = frozenset(
    names("-e -c -q -s -x -v --exec --execute --command --eval --query --cmd --run --script")
)
_OWN_COMMAND = re.compile(
    r"(?i)(?:^|;)[^\S\n]*(?:drop|delete\w*|destroy|truncate\w*|purge|erase|wipe|clear\w*|rmr?|remove|"
    r"flush\w*|shutdown|unregister|revoke)(?:[ :]\S|$)"
)
_SHELL_COMMAND = re.compile(
    r"(?:sudo\s+)?(?:rm\s+[-/~]|(?:systemctl\s+(?:stop|disable|mask|kill)|service\s+\S+\s+stop)\b|"
    r"(?:shutdown|reboot|poweroff|halt)(?:\s|$)|dd\s+\w+=|mkfs\S*\s|(?:p?kill|killall)\s|"
    r"(?:userdel|usermod|passwd|chpasswd)\s|find\s+/\S*\s.*-delete|(?:apt|apt-get|dnf|yum)\s.*\b"
    r"(?:remove|purge|erase)\b|docker\s+(?:rm|rmi|volume|system)\b|kubectl\s+delete\b)"
)
_TAKES_COMMANDS = re.compile(r"sql|shell|(?:[a-z]|-)sh$|cli$|console|ql$|db|^(?:rman|bteq|hbase)$")
_TEXTS = frozenset(
    names("-m --message -t --title -b --body -F --file --description --notes --summary --subject")
)
"""Words before text for people."""
_SPEAKS = frozenset(
    names(
        "echo printf log say cowsay notify-send grep egrep fgrep rg ag ack sed awk git hg gh glab "
        "logger espeak figlet wall write mail mailx curl wget http jq yq fzf tee cat diff"
    )
)


def statements(call: CommandCall) -> Iterator[Answer]:
    """Yield the code given to an unknown client."""
    if call.name in _SPEAKS or call.name in PRINTERS:
        return
    for before, word in pairwise(["", *call.args]):
        if before in _TEXTS or (" " not in word and before not in _HELD):
            continue
        if _STATEMENT.match(word):
            yield script(word, "sql")
        elif _SHELL_COMMAND.match(word):
            yield script(word, contained=True)
        elif before in _HELD and _OWN_COMMAND.search(word):
            yield _may_destroy(call)
    text = call.stdin.text if call.stdin is not None and not call.stdin.file else None
    if text is None:
        return
    if _STATEMENT.match(text):
        yield script(text, "sql")
    elif _TAKES_COMMANDS.search(call.name) and _TYPED.search(text):
        yield _may_destroy(call)


def _may_destroy(call: CommandCall) -> RuleMatch:
    why = f"{call.name} is given a command that may destroy something"
    return ask("unknown_destroy", why, RiskLevel.MEDIUM)
