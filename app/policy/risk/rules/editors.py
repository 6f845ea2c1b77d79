"""Editors that take commands from their arguments or from standard input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    UNKNOWN,
    UNTOLD,
    Answer,
    CommandCall,
    RuleTable,
    Stream,
    ask,
    options,
    script,
    table,
)
from app.policy.risk.paths import writing

_RUNS = re.compile(
    r"(?:^|[|:%\n\d$,])\s*(?:sil\w*!?\s+|exe\w*\s+\W|term\w*\s+)?(?:r\s*|w\s+)?!\s*(.+)"
)
_WRITES = re.compile(r"\b(?:w|wq|x|saveas)!?\s+(/\S+|~\S+)")
_CODE = re.compile(
    r"system\s*\(|\bdelete\s*\(|"
    r"\bse?t?l?\s+(?:sh|shell|shcf|shellcmdflag|mp|makeprg|gp|grepprg|ep|equalprg|fp|formatprg)=|"
    r"(?<!=)\b(?:py|python|py3|python3|perl|ruby|lua|exe|execute|term|terminal)\b"
)


def _vim(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "c S u U w i T -cmd")
    if call.name != "ex" and not given.has("-e", "-E"):
        given = options(call.args, "c S s u U w i T -cmd")
    texts = given.all_values("-c", "--cmd") + [arg[1:] for arg in call.args if arg.startswith("+")]
    if (given.has("-s", "-e", "-E") or call.name == "ex") and call.stdin:
        texts.append(call.stdin.text if call.stdin.text is not None else UNKNOWN)
    for text in texts:
        yield from _editor_command(call, text)
    for path in options(call.args, "l S s u").all_values("-l", "-S", "-s", "-u"):
        if call.was_written(path):
            yield ask("opaque_code", "runs editor commands written by the script")
    if texts:
        for path in (arg for arg in given.rest if not arg.startswith("+")):
            yield from writing(call.at(path), call.home)


def _editor_command(call: CommandCall, text: str) -> Iterator[Answer]:
    if UNKNOWN in text:
        yield ask("opaque_code", "runs editor commands that are not known")
    elif match := _WRITES.search(text):
        yield from writing(call.at(match.group(1)), call.home)
    elif match := _RUNS.search(text):
        yield script(match.group(1), stdin=Stream(None))
    elif _CODE.search(text):
        yield ask("code_danger", "the editor command runs code")


def _ed(call: CommandCall) -> Iterator[Answer]:
    text = call.stdin.text if call.stdin else ""
    if text is None:
        yield ask("opaque_code", "runs editor commands that are not known")
        return
    for match in re.finditer(r"(?m)^(?:[\d,$%]*[rwe]?\s*)!(.+)$", text):
        yield script(match.group(1))
    if call.stdin:
        for path in options(call.args).rest:
            yield from writing(call.at(path), call.home)


def _pager(call: CommandCall) -> Iterator[Answer]:
    for arg in call.args:
        if arg.startswith("+") and (match := re.search(r"[!|#]\s*(.+)", arg)):
            yield script(match.group(1), stdin=UNTOLD)


RULES: RuleTable = {
    **table("less more most", _pager),
    **table("vim vi nvim view gvim rvim rview ex vimdiff", _vim),
    **table("ed red", _ed),
}
