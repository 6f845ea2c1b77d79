"""Model without a script: it lists the folder, then describes it."""

from __future__ import annotations

from typing import Any

from tests.support.scripted_anthropic.server import Received
from tests.support.scripted_anthropic.turns import Turn, Wait, text, thinking, tool_use

_PAUSE = 0.05


def demo_turn(received: Received) -> Turn:
    """Call `bash` with `ls -la` after a user's text, and summarize after a result."""
    results = received.tool_results()
    if not results:
        return Turn(
            thinking("The user wants to know about this folder. A listing tells most."),
            text(*_slowly("I will look at the folder first.")),
            tool_use("bash", {"command": "ls -la"}),
        )
    lines = [line for item in results.values() for line in _text_of(item).splitlines()]
    failed = any(item.get("is_error") for item in results.values())
    summary = (
        f"The command did not run: {lines[0] if lines else 'no reason given'}"
        if failed
        else f"The listing has {len(lines)} lines. The last one is: {lines[-1] if lines else '-'}"
    )
    return Turn(text(*_slowly(summary)))


def _slowly(words: str) -> list[str | Wait]:
    pieces: list[str | Wait] = []
    for word in words.split(" "):
        pieces += [f"{word} ", Wait(_PAUSE)]
    return pieces


def _text_of(result: dict[str, Any]) -> str:
    content = result.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")
