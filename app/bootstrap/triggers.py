"""Composition of what starts runs without a person: schedules and webhooks."""

from __future__ import annotations

from app.agents.run_subjects import RunSubjects
from app.agents.runs import RunService
from app.agents.schedules.scheduler import Scheduler
from app.agents.schedules.service import ScheduleService
from app.agents.sessions import Sessions
from app.agents.webhooks.deliveries import Deliveries
from app.agents.webhooks.model import Webhook, words
from app.agents.webhooks.receiver import WebhookReceiver
from app.agents.webhooks.repository import WebhookRepository
from app.bootstrap.container import Runtime
from app.domain.schedules import SCHEDULES
from app.governance.identity.tokens import Tokens
from app.knowledge.outbound_requests.setup import outbound_request_keys


def open_schedules(runtime: Runtime) -> ScheduleService:
    """Register the schedule service for tools."""
    schedules = ScheduleService(
        runtime.db, runtime.clock, runtime.audit, runtime.changes, runtime.settings.schedules
    )
    runtime.services.register(SCHEDULES, schedules)
    return schedules


def scheduler_of(
    runtime: Runtime,
    schedules: ScheduleService,
    sessions: Sessions,
    runs: RunService,
    tokens: Tokens,
) -> Scheduler:
    """Return the scheduler, which starts the due runs of `schedules`."""
    return Scheduler(
        *(schedules, sessions, runs, RunSubjects(runtime.agents, runtime.projects, tokens)),
        db=runtime.db,
        clock=runtime.clock,
        conditions=runtime.conditions,
        redactor=runtime.redactor,
    )


async def open_webhooks(
    runtime: Runtime, sessions: Sessions, runs: RunService, tokens: Tokens
) -> WebhookReceiver:
    """Return the receiver, with the stored webhooks.

    Raises:
        ConfigurationError: the keys in the settings are invalid.
    """
    settings, redactor = runtime.settings, runtime.redactor
    clock, audit = runtime.clock, runtime.audit
    repository = WebhookRepository(
        *(runtime.db, clock, audit, runtime.changes, runtime.agents, runtime.projects),
        redactor=redactor,
        keys=outbound_request_keys(settings, redactor),
    )
    await repository.load()
    limit = settings.triggers.body_chars

    def prompt_of(webhook: Webhook, body: bytes) -> str:
        return words(webhook, body, redactor.text, limit)

    return WebhookReceiver(
        *(repository, Deliveries(runtime.db, clock, audit), sessions, runs),
        subjects=RunSubjects(runtime.agents, runtime.projects, tokens),
        clock=clock,
        audit=audit,
        prompt_of=prompt_of,
    )
