"""Programs that are made to keep whoever reads them busy."""

from __future__ import annotations

import pytest

from app.policy.risk.call import RuleMatch
from app.policy.risk.code import assess_code
from app.policy.risk.code_requests import deletes_by_request
from app.policy.risk.node_children import literal_children

LOADED = "const c = require('child_process');"


@pytest.mark.parametrize(
    "begun",
    [
        "c.exec('a', {timeout:",
        "c.execFile('a', ['b'",
        "c.execFile('a', ['b',",
        "c.exec('a', {stdio: [",
        "c",
        "require('child_process').then((",
    ],
)
def test_blanks_in_a_call_that_is_none_take_no_time(begun: str):
    assert literal_children(f"{LOADED}{begun}{' ' * 300_000}!") is None


def test_blanks_before_a_method_take_no_time():
    assert list(deletes_by_request("node", f"delete{' ' * 300_000}x")) == []


def test_clients_under_many_names_take_no_time():
    text = "".join(f"const a{at} = got;" for at in range(20_000))

    assert list(deletes_by_request("node", f"{text}// delete")) == []
    assert list(deletes_by_request("node", f"{text}a19999.delete('/x')")) != []


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028"])
def test_the_line_after_long_blanks_is_still_read(end: str):
    text = f"// a comment{' ' * 300}{end}{' ' * 300}require('fs').rmSync('x')"

    codes = [answer.code for answer in assess_code("node", text) if isinstance(answer, RuleMatch)]
    assert codes == ["code_danger"]
