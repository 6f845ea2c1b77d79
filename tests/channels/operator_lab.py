"""Channels that may send, and operators that sit in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.channels.channels import Channels
from app.channels.operator_messages import (
    Ability,
    Claim,
    Done,
    Failed,
    OperatorProgress,
    TaskForOperator,
)
from app.channels.operators import Operator, OperatorService
from app.channels.store import Channel

GROUP = "客户群"
WEIXIN = (Ability(app_id="weixin", actions=("send-text",)),)
APPS: list[dict[str, Any]] = [{"app_id": "weixin", "actions": ["send-text"]}]


def config(**reply: Any) -> dict[str, Any]:
    """A configuration that lets everybody write to two groups, unasked."""
    usual = {"enabled": True, "autoReply": True, "targets": [GROUP, "Support"]}
    return {"weixinReply": usual | reply}


async def channel(channels: Channels, channel_id: str = "shop", **reply: Any) -> Channel:
    """A stored channel."""
    return await channels.store.create(
        channel_id, name="Shop", kind="weixin", config=config(**reply), enabled=True, actor="admin"
    )


def operator(name: str = "desk-1", **fields: Any) -> Operator:
    """Somebody who can send texts."""
    return Operator(**{"user_id": "deb", "key": "tok_deb", "name": name, "apps": WEIXIN, **fields})


def claim_of(task: TaskForOperator) -> Claim:
    """What the operator shows of the task it holds."""
    return Claim(task_id=task.task_id, claim_id=task.claim_id)


@dataclass
class Sitting:
    """An operator at work: `got` is what it was given."""

    got: list[TaskForOperator] = field(default_factory=list)
    failure: Failed | None = None


@asynccontextmanager
async def sitting(
    desk: OperatorService, who: Operator | None = None, *, failure: Failed | None = None
) -> AsyncIterator[Sitting]:
    """An operator that does whatever there is, or fails at it."""
    who = who or operator()
    at_work = Sitting(failure=failure)
    news = asyncio.Event()

    async def work() -> None:
        while True:
            await news.wait()
            news.clear()
            while (task := await desk.claim(who)) is not None:
                at_work.got.append(task)
                await desk.start(who, claim_of(task))
                await desk.progress(who, claim_of(task), OperatorProgress(stage="pasting"))
                if at_work.failure is None:
                    await desk.complete(who, claim_of(task), Done(verified=True))
                else:
                    await desk.fail(who, claim_of(task), at_work.failure)

    with desk.news.listening(news.set):
        news.set()
        working = asyncio.create_task(work())
        try:
            yield at_work
        finally:
            working.cancel()
            ended = (await asyncio.gather(working, return_exceptions=True))[0]
            assert isinstance(ended, asyncio.CancelledError), ended
