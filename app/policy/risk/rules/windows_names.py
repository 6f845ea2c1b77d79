"""Windows commands on a Unix command line: the verb decides, as in their own shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import UNKNOWN, Answer, CommandCall, RuleTable, names, script, table
from app.policy.risk.windows import in_cmd, judge
from app.policy.risk.windows_tables import NAMES


def _native(call: CommandCall) -> Iterator[Answer]:
    yield from judge((call.name, *call.args), call.home)


def _cmd(call: CommandCall) -> Iterator[Answer]:
    answers = list(in_cmd(call.args))
    yield from answers
    if call.stdin and not answers:
        yield script(call.stdin.text, "cmd")


def _powershell(call: CommandCall) -> Iterator[Answer]:
    yield from judge((call.name, *call.args), call.home)
    if call.stdin and all(arg.startswith("-") for arg in call.args):
        yield script(call.stdin.text, "powershell")


def _block(call: CommandCall) -> Iterator[Answer]:
    """Handle `ForEach-Object { command }`: to bash the braces are words."""
    words = [word for word in call.args if word not in {"{", "}"} and not word.startswith("-")]
    if words and UNKNOWN not in words[0]:
        yield from judge(words, call.home)


_OF_POWERSHELL = frozenset(names("ri cli rp clc spps spsv icm ihy saps sal nal"))
"""Short names known only to PowerShell; elsewhere they are other programs."""
_A_DRIVE = re.compile(r"[A-Za-z]:")


def _format(call: CommandCall) -> Iterator[Answer]:
    """Handle `format C:`; projects have scripts with this name, too."""
    if any(map(_A_DRIVE.match, call.args)):
        yield from _native(call)


RULES: RuleTable = {
    **table("foreach-object % where-object start-job measure-command", _block),
    **table(" ".join(NAMES), _native),
    "format": _format,
    "cmd": _cmd,
    "command.com": _cmd,
    **table("powershell pwsh", _powershell),
    "start": _native,
}
for _name in ("rm", "rmdir", *_OF_POWERSHELL):
    RULES.pop(_name, None)
