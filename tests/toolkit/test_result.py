"""A tool result and its faces."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from app.toolkit.result import RawResult, ToolResult, as_result


@pytest.mark.requirement("REG-03")
def test_ok_and_fail_give_the_three_keys():
    assert ToolResult.ok(1).to_dict() == {"success": True, "data": 1, "error": None}
    assert ToolResult.ok().to_dict() == {"success": True, "data": None, "error": None}
    assert ToolResult.fail("x").to_dict() == {"success": False, "data": None, "error": "x"}


@pytest.mark.requirement("REG-07", "B-13")
def test_what_a_tool_returned_is_wrapped_and_an_inner_failure_lifted():
    passed = ToolResult.fail("no")
    assert as_result(passed) is passed
    assert as_result([1]) == ToolResult.ok([1])
    assert as_result("text") == ToolResult.ok("text", text="text")
    inner = {"success": False, "error": "not found"}
    assert as_result(inner) == ToolResult.fail("not found", data=inner)
    assert as_result({"success": False}).error == "the tool reported a failure"
    assert as_result({"success": True, "n": 1}) == ToolResult.ok({"success": True, "n": 1})
    assert as_result({"success": 0}).success is True


def test_json_keeps_characters_and_survives_what_json_lacks():
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    data = {"名": "文件", "nan": math.nan, "bad": "\ud800", "when": moment, 1: {2}}
    assert ToolResult.ok(data).to_json() == (
        '{"success":true,"data":{"名":"文件","nan":"nan","bad":"?",'
        '"when":"2026-01-02T00:00:00+00:00","1":[2]},"error":null}'
    )


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult.ok({"n": 1}, text="one"), "one"),
        (ToolResult.ok("plain"), "plain"),
        (ToolResult.ok({"n": "一"}), '{"n":"一"}'),
        (ToolResult.ok(), "null"),
        (ToolResult.fail("broken"), "broken"),
        (ToolResult.fail(""), "failed"),
        (ToolResult.fail("broken", text="tell the model this"), "tell the model this"),
    ],
)
@pytest.mark.requirement("B-12")
def test_the_model_reads_the_text_or_what_stands_for_it(result, text):
    assert result.for_model() == text


def test_a_failure_keeps_its_code_and_what_helps():
    result = ToolResult.fail("busy", code="locked", data={"by": "x"})
    assert (result.code, result.data) == ("locked", {"by": "x"})
    assert ToolResult.fail("x").code == "tool_failed"


@pytest.mark.requirement("B-12")
def test_a_raw_result_tells_a_client_what_to_draw():
    raw = RawResult("table", {"rows": []})
    assert ToolResult.ok(raw_result=raw).raw_result is raw
    assert raw.to_dict() == {"type": "table", "data": {"rows": []}}
