"""Skills of an installation, bound to its projects and agents."""

from __future__ import annotations

from app.execution.assembly import RuntimeBase
from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.knowledge.skills.service import SkillService
from app.knowledge.skills.store import SkillStore
from app.tools.skills.ports import SKILLS


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
