"""Compatibility of `delegate_parallel` with the name and results of `multi_agent`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.toolkit.result import ToolResult

_NAMES = {"name": "label", "instruction": "goal"}


def as_multi_agent(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{tasks: [{name, instruction, tools?}]}`, where empty `tools` means all."""
    tasks = raw.get("tasks")
    if not isinstance(tasks, list):
        return {**raw, "brief": True}
    return {**raw, "brief": True, "tasks": [_task(item) for item in tasks]}


def multi_agent_shape(result: ToolResult) -> ToolResult:
    """Return `{success, results: [{task_name, success, response | error}], total}`."""
    tasks = result.data.get("tasks") if isinstance(result.data, dict) else None
    if not isinstance(tasks, list):
        return result
    results = [_outcome(task) for task in tasks]
    fields = {"success": result.success, "results": results, "total": len(results)}
    return replace(result, data=fields)


def _task(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    fields = {_NAMES.get(name, name): value for name, value in item.items()}
    if not fields.get("tools", True):
        del fields["tools"]
    return fields


def _outcome(task: dict[str, Any]) -> dict[str, Any]:
    if task["status"] == "success":
        return {"task_name": task["label"], "success": True, "response": task["response"]}
    error = task["error"] or {}
    fields = str(error.get("message") or task["status"])
    return {"task_name": task["label"], "success": False, "error": fields}
