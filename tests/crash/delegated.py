"""Two sub-agents, and their service is killed while they work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.crash.model import HEARD, LAST_WORDS, TURNS, DelegatingModel, Model
from tests.crash.trial import OUTPUT_TOKENS, Event, Trial
from tests.support.server_process import Server

_ENDS = ("run_finished", "subagent_finished")


@dataclass
class DelegatedTrial(Trial):
    """What was seen of them, and what is stored.

    Attributes:
        batches: as the service tells them in the end.
        goes_on: whether what was under way shall go on in the next process.
        background: whether their agent has ended meanwhile; else it waits for their answers.
    """

    batches: list[Event] = field(default_factory=list)
    goes_on: bool = True
    background: bool = True

    def model(self, asked: Callable[[], None]) -> Model:
        return DelegatingModel(asked, background=self.background)

    async def is_over(self, running: Server, session_id: str, seen: list[Event]) -> bool:
        if not seen or seen[-1]["type"] not in _ENDS:
            return False
        kinds = [event["type"] for event in seen]
        if kinds.count("run_finished") != kinds.count("run_started"):
            return False
        found = await running.get(f"/sessions/{session_id}/delegations?running=true")
        return not found["delegations"]

    async def look(self, running: Server, session_id: str) -> None:
        await super().look(running, session_id)
        found = await running.get(f"/sessions/{session_id}/delegations")
        ids = [batch["batch_id"] for batch in found["delegations"]]
        self.batches = [await running.get(f"/delegations/{id_}") for id_ in ids]

    def wrong(self) -> list[str]:
        """What must not be."""
        return [
            *self.refused,
            *self._in_effects(),
            *self._in_events(),
            *self._in_the_run(),
            *self._in_the_tasks(),
        ]

    def _over(self) -> dict[str, str]:
        return {event["child_run_id"]: event["status"] for event in self.of("subagent_finished")}

    def _in_order(self) -> Iterator[str]:
        """Nothing of a sub-agent comes after its end, and nothing of a run after its own."""
        over: set[str] = set()
        for event in self.events:
            of = event.get("run_id")
            if of in over and event["type"] not in ("subagent_started", "subagent_finished"):
                yield f"{event['type']} comes after the end of {of}"
            if event["type"] in _ENDS:
                over.add(event.get("child_run_id") or event["run_id"])

    def _in_the_run(self) -> Iterator[str]:
        own = [run["status"] for run in self.runs if run["trigger"] == "message"]
        if set(own) - {"success"} or len(own) != self.begun:
            yield f"the run ended as {self.runs}"
        if not self.background and own and HEARD not in str(self.messages[-1:]):
            yield f"the agent has not heard them: {self.messages[-1:]}"

    def _in_the_tasks(self) -> Iterator[str]:
        if len(self.batches) > 1:
            yield f"{len(self.batches)} batches came of one call"
        for task in (task for batch in self.batches for task in batch["tasks"]):
            name = task["label"]
            reported = self._over().get(task["run_id"])
            if reported is not None and reported != task["status"]:
                yield f"{name} ended as {task['status']}, and was reported as {reported}"
            if not self.goes_on:
                continue
            if (task["status"], task["response"]) != ("success", LAST_WORDS):
                yield f"{name} ended as {task['status']}: {task['response']} {task['error']}"
            if task["rounds"] != TURNS + 1:
                yield f"{name} took {task['rounds']} rounds, and not {TURNS + 1}"
            if task["usage"]["output_tokens"] != task["rounds"] * OUTPUT_TOKENS:
                yield f"{name} used {task['usage']} in {task['rounds']} rounds"
