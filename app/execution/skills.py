"""The skills of an installation, bound to its projects and its agents."""

from __future__ import annotations

from app.execution.assembly import Ground
from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.knowledge.skills.service import SkillService
from app.knowledge.skills.store import SkillStore
from app.tools.skills.ports import SKILLS


def open_shelf(ground: Ground, projects: Projects, agents: AgentStore) -> SkillService:
    """Build the service and register it for tools; decisions are loaded with the gate."""
    settings = ground.settings

    def allowed(agent_id: str | None) -> tuple[str, ...] | None:
        profile = agents.get(agent_id)
        if profile is None:
            # An agent that is gone may use nothing; who has none may use what all may.
            return None if agent_id is None else ()
        return profile.skills

    shelf = SkillService(
        settings.skills,
        SkillStore(ground.db, ground.clock, ground.audit, ground.changes),
        folder=settings.skills.folder or settings.data_dir / "skills",
        hidden=(str(settings.data_dir.resolve()),),
        root_of=lambda project_id: projects.about(project_id).root,
        allowed=allowed,
    )
    ground.services.register(SKILLS, shelf)
    return shelf
