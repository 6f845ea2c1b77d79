"""Programs that are made to keep whoever reads them busy."""

from __future__ import annotations

import pytest

from app.policy.risk.answers import judged
from app.policy.risk.call import CommandCall, RuleMatch
from app.policy.risk.code import assess_code
from app.policy.risk.code_requests import deletes_by_request
from app.policy.risk.node_children import literal_children
from app.policy.risk.runs import runs_of
from app.policy.risk.sql import assess_sql

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


N = 60_000
_UNKNOWN_LETTERS = "".join(f" s{chr(0x2190 + at)}" for at in range(2_000))


@pytest.mark.parametrize(
    "text",
    [
        "[" * N,
        "/* " * (N // 3),
        "/*! " * (N // 4),
        "".join(f"$a{at}$ " for at in range(N // 10)),
        "with " + "update " * (N // 7),
        "with " + "delete where " * (N // 13),
    ],
)
@pytest.mark.parametrize("mysql", [True, False])
def test_statements_without_an_end_take_no_time(text: str, *, mysql: bool):
    whys = {answer.why for answer in assess_sql(text, mysql=mysql) if isinstance(answer, RuleMatch)}

    assert whys <= {"SQL deletes every row"}


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("with a as (select 1) delete from a", "SQL deletes every row"),
        ("with a as (select 1) delete from a where b = 2", ""),
        ("update a set b = 1", "SQL changes every row"),
        ("update a set b = 1 where c = 2", ""),
        ("update a set b = 1 where true", "SQL deletes or changes every row"),
        ("delete from a where [b] = [b] /* where c */", "SQL deletes or changes every row"),
        ("delete from a -- where b = 1", "SQL deletes every row"),
        ("delete from a where b = '[' and c = ']'", ""),
        ("select $a$ delete from a $a$", ""),
    ],
)
def test_rows_that_a_statement_takes(statement: str, why: str):
    hits = (hit for hit in assess_sql(statement, mysql=False) if isinstance(hit, RuleMatch))

    assert [hit.why for hit in hits][:1] == ([why] if why else [])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("psql", ["-c", "\n" * N]),
        ("psql", ["-c", "copy " * (N // 5)]),
        ("sqlite3", ["x", "lo_export(" * (N // 10)]),
        ("sed", ["\n" * N]),
        ("awk", ["\n" * N]),
        ("sed", [_UNKNOWN_LETTERS + "." * N]),
        ("fzf", ["--preview", "{" * N]),
        ("ansible", ["all", "-m", "shell", "-a", "x" + " " * N]),
    ],
)
def test_words_of_a_tool_take_no_time(name: str, args: list[str]):
    answers = judged(CommandCall(name, args, "/workspace", "/home/u"))

    assert {hit.code for hit in answers if isinstance(hit, RuleMatch)} <= {"opaque_code"}


def test_the_path_in_a_word_of_dots_takes_no_time():
    assert list(runs_of(CommandCall("sed", ["." * N + " "], "/", "/"), "sed")) == []
