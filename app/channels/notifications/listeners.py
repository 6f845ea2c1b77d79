"""Listeners of channels whose messages can be answered, kept in step with the stored channels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from app.channels.notifications.channel_store import NotificationChannel, NotificationChannels
from app.channels.notifications.chat_answers import ChatAnswers
from app.channels.notifications.kinds import TransportServices
from app.channels.notifications.listener import ListenerState
from app.channels.notifications.sender import ChannelTrouble
from app.core.clock import stamp
from app.core.errors import ConfigurationError

log = logging.getLogger(__name__)


class ChannelListener(Protocol):
    """Receives answers of one channel."""

    @property
    def state(self) -> ListenerState: ...

    async def run(self) -> None:
        """Listen until cancelled; never raises anything else."""


AnswersOf = Callable[[str], ChatAnswers]
"""Returns what takes the answers of a channel, by its ID."""


class ChannelListeners:
    """Runs one listener for each enabled channel whose kind has one."""

    def __init__(
        self, channels: NotificationChannels, services: TransportServices, answers_of: AnswersOf
    ) -> None:
        self._channels = channels
        self._services = services
        self._answers_of = answers_of
        self._changed = asyncio.Event()
        self._running: dict[tuple[str, int], tuple[ChannelListener, asyncio.Task[None]]] = {}
        channels.on_change(self._changed.set)

    @property
    def troubles(self) -> tuple[ChannelTrouble, ...]:
        """Channels whose answers do not arrive."""
        found = []
        for (channel_id, _), (listener, _) in self._running.items():
            state, channel = listener.state, self._channels.find(channel_id)
            if state.since is not None and channel is not None:
                error = f"answers are not received: {state.error}"
                found.append(ChannelTrouble(channel_id, channel.name, error, stamp(state.since)))
        return tuple(found)

    async def run(self) -> None:
        """Follow the channels until cancelled."""
        try:
            while True:
                self._changed.clear()
                await self._follow()
                await self._changed.wait()
        finally:
            await self._stop(list(self._running))

    async def _follow(self) -> None:
        wanted = {
            (channel.id, channel.version): channel
            for channel in self._channels.list_all()
            if channel.enabled
        }
        await self._stop([key for key in self._running if key not in wanted])
        for key, channel in wanted.items():
            if key not in self._running and (listener := self._made(channel)) is not None:
                task = asyncio.get_running_loop().create_task(listener.run())
                self._running[key] = listener, task

    def _made(self, channel: NotificationChannel) -> ChannelListener | None:
        kind = self._channels.kinds.get(channel.kind)
        if kind is None or kind.listener is None:
            return None
        try:
            settings, secrets = self._channels.opened(channel)
        except ConfigurationError as error:
            log.warning("no answers from the channel %s: %s", channel.name, error.message)
            return None
        answers = self._answers_of(channel.id)
        listener: ChannelListener = kind.listener(settings, secrets, self._services, answers)
        return listener

    async def _stop(self, keys: list[tuple[str, int]]) -> None:
        tasks = [self._running.pop(key)[1] for key in keys]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
