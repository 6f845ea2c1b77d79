"""Detection of models that retry a declined goal."""

from __future__ import annotations

from collections import Counter, OrderedDict

from app.execution.call import CallState

MAX_RUNS = 1024
STOP_AFTER = 3
STOP_TRYING = (
    "A person has declined this for the {times}th time in this run. Do not try it another way; "
    "continue without it, or ask what they want instead."
)
REFUSED = (
    "People have declined this {times} times in this run, so it was refused without asking. Do "
    "not try it another way."
)
_PLACES = ("path", "file_path", "url", "name", "query")


class Declines:
    """Counter of declined calls, per run and goal."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, Counter[str]] = OrderedDict()

    def note(self, call: CallState) -> str | None:
        """Count a declined call; return a note for the model above the limit."""
        run_id = call.context.run_id
        if run_id is None or not call.context.is_agents:
            return None
        counts = self._runs.setdefault(run_id, Counter())
        self._runs.move_to_end(run_id)
        if len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)
        counts.update(goals_of(call))
        times = self.times(call)
        return (
            STOP_TRYING.format(times=times).replace("3th", "3rd") if times >= STOP_AFTER else None
        )

    def times(self, call: CallState) -> int:
        """Return how often a person declined the goal of this call."""
        counts = self._runs.get(call.context.run_id or "")
        if not counts or not call.context.is_agents:
            return 0
        return max((counts[goal] for goal in goals_of(call)), default=0)


def goals_of(call: CallState) -> frozenset[str]:
    """Return the goal of a call: its findings, else the program or the place it names."""
    name, decision = call.tool_name, call.decision
    codes = {finding.code for finding in decision.findings} if decision else set()
    if codes:
        return frozenset(f"{name} finding {code}" for code in codes)
    if decision is not None and decision.segments:
        argv = decision.segments[0].argv
        return frozenset({f"{name} program {argv[0] if argv else ''}"})
    raw = call.prepared.raw if call.prepared else {}
    place = next((str(raw[key]) for key in _PLACES if isinstance(raw.get(key), str)), None)
    if place is not None:
        return frozenset({f"{name} place {place}"})
    return frozenset({f"{name} call {hash(call.key)}" if call.prepared else name})
