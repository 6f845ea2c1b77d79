"""Feature services of agents: created once, and registered for tools."""

from __future__ import annotations

from dataclasses import dataclass

from app.channels.channels import Channels, assemble_channels
from app.execution.assembly import GovernanceParts, RuntimeBase
from app.execution.projects import Projects
from app.execution.skills import open_skills
from app.governance.agent_store import AgentStore
from app.knowledge.boards.boards import Boards
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.memory.wiring import memory_on
from app.knowledge.outbound_requests.sender import OutboundRequests
from app.knowledge.outbound_requests.setup import assemble_outbound_requests, outbound_request_keys
from app.knowledge.skills.service import SkillService
from app.knowledge.sources.setup import SourceServices, assemble_sources
from app.tools.data.wiring import offer_data_services
from app.tools.media.ports import IMAGE_PROVIDER
from app.tools.media.providers import image_provider
from app.tools.memory.ports import MEMORY
from app.tools.sql.ports import DATA_SOURCES


@dataclass(frozen=True, slots=True)
class Stores:
    """Feature services of agents, one per subject."""

    boards: Boards
    memory: MemoryAdministration
    skills: SkillService
    sources: SourceServices
    triggers: OutboundRequests
    channels: Channels

    async def load(self) -> None:
        """Load their caches."""
        await self.skills.load_decisions()
        await self.sources.store.load()
        await self.triggers.store.load()
        await self.channels.store.load()

    async def close(self) -> None:
        """Close their resources."""
        await self.sources.reading.close()
        await self.memory.close()


def open_stores(
    base: RuntimeBase, governed: GovernanceParts, projects: Projects, agents: AgentStore
) -> Stores:
    """Build the services and register them for tools. Without side effects."""
    settings, db, clock = base.settings, base.db, base.clock
    audit, changes, redactor = base.audit, base.changes, base.redactor
    services = base.services
    offer_data_services(settings, services, clock)
    if (images := image_provider(settings.images)) is not None:
        services.register(IMAGE_PROVIDER, images)
    boards = Boards.on(db, clock, audit)
    boards.offer(services)
    memory = memory_on(settings, db, clock, redactor, audit)
    services.register(MEMORY, memory.store)
    sources = assemble_sources(settings, db, clock, audit=audit, changes=changes, redactor=redactor)
    services.register(DATA_SOURCES, sources.reading)
    channels = assemble_channels(settings.channels, db, clock, audit=audit, changes=changes)
    channels.offer(services)
    triggers = assemble_outbound_requests(
        settings,
        db,
        clock,
        services,
        keys=outbound_request_keys(settings, redactor),
        audit=audit,
        changes=changes,
        redactor=redactor,
        on_offer=governed.resolver.forget,
    )
    skills = open_skills(base, projects, agents)
    return Stores(boards, memory, skills, sources, triggers, channels)
