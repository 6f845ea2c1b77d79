"""Editors that take commands from their arguments or from standard input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import UNKNOWN, Answer, Call, RuleTable, ask, options, script, table
from app.policy.risk.paths import writing


def _vim(call: Call) -> Iterator[Answer]:
    given = options(call.args, "c S s u U w i T -cmd")
    texts = given.all_values("-c", "--cmd") + [arg[1:] for arg in call.args if arg.startswith("+")]
    if given.has("-s", "-e", "-E") and call.stdin:
        texts.append(call.stdin.text if call.stdin.text is not None else UNKNOWN)
    for text in texts:
        if UNKNOWN in text:
            yield ask("opaque_code", "runs editor commands that are not known here")
        elif match := re.search(r"(?:^|[|:%\n])\s*(?:r\s*|w\s*)?!\s*(.+)", text):
            yield script(match.group(1))
        elif re.search(
            r"system\s*\(|\bdelete\s*\(|\b(?:py|python|py3|python3|perl|ruby|lua|exe|"
            r"execute|term|terminal)\b",
            text,
        ):
            yield ask("code_danger", "the editor command runs code")
    for path in [arg for arg in given.rest if not arg.startswith("+")]:
        if texts:
            yield from writing(call.at(path), call.home)


def _ed(call: Call) -> Iterator[Answer]:
    text = call.stdin.text if call.stdin else ""
    if text is None:
        yield ask("opaque_code", "runs editor commands that are not known here")
        return
    for match in re.finditer(r"(?m)^(?:[\d,$%]*[rwe]?\s*)!(.+)$", text):
        yield script(match.group(1))
    if call.stdin:
        for path in options(call.args).rest:
            yield from writing(call.at(path), call.home)


RULES: RuleTable = {
    **table("vim vi nvim view gvim ex vimdiff", _vim),
    **table("ed red", _ed),
}
