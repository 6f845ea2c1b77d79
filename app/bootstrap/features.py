"""Feature services of agents: created once, and registered for tools."""

from __future__ import annotations

from app.bootstrap.container import Stores
from app.bootstrap.pipeline import GovernanceParts, RuntimeBase
from app.channels.channels import assemble_channels
from app.config.images import ImageSettings
from app.config.settings import Settings
from app.config.weather import WeatherSettings
from app.core.clock import Clock
from app.domain.data_sources import DATA_SOURCES
from app.domain.memory import MEMORY
from app.domain.skills import SKILLS
from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.knowledge.boards.boards import Boards
from app.knowledge.memory.wiring import memory_on
from app.knowledge.outbound_requests.setup import assemble_outbound_requests, outbound_request_keys
from app.knowledge.skills.service import SkillService
from app.knowledge.skills.store import SkillStore
from app.knowledge.sources.setup import assemble_sources
from app.operations.images.openai_compatible import OpenAiImages
from app.operations.images.provider import IMAGE_PROVIDER, ImageProvider
from app.toolkit.services import Services
from app.tools.data.services import CALCULATOR_RULES, CLOCK, CalculatorRules
from app.tools.data.weather.open_meteo import OpenMeteo
from app.tools.data.weather.reports import WEATHER, WeatherProvider
from app.tools.data.weather.simulated import SimulatedWeather
from app.tools.media.image_work import LocalDrawing


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


def open_skills(base: RuntimeBase, projects: Projects, agents: AgentStore) -> SkillService:
    """Build the service and register it for tools; decisions are loaded with the gate."""
    settings = base.settings

    def allowed(agent_id: str | None) -> tuple[str, ...] | None:
        profile = agents.get(agent_id)
        if profile is None:
            # A deleted agent may use nothing; callers without an agent may use what all may.
            return None if agent_id is None else ()
        return profile.skills

    shelf = SkillService(
        settings.skills,
        SkillStore(base.db, base.clock, base.audit, base.changes),
        folder=settings.skills.folder or settings.data_dir / "skills",
        hidden=(str(settings.data_dir.resolve()),),
        root_of=lambda project_id: projects.about(project_id).root,
        allowed=allowed,
    )
    base.services.register(SKILLS, shelf)
    return shelf


def offer_data_services(settings: Settings, services: Services, clock: Clock) -> None:
    """Register the services; without a weather provider `get_weather` is off."""
    services.register(CLOCK, clock)
    services.register(CALCULATOR_RULES, CalculatorRules(settings.calculator_functions))
    provider = weather_provider(settings.weather)
    if provider is not None:
        services.register(WEATHER, provider)


def weather_provider(settings: WeatherSettings) -> WeatherProvider | None:
    """Return the configured provider; there is no fallback to another."""
    match settings.provider:
        case "open-meteo":
            return OpenMeteo(settings)
        case "simulated":
            return SimulatedWeather()
        case "off":
            return None


def image_provider(settings: ImageSettings) -> ImageProvider | None:
    """Return the configured provider; None disables the tools."""
    if settings.provider == "openai":
        return OpenAiImages(settings)
    if settings.provider == "draw":
        return LocalDrawing(settings.max_count)
    return None
