"""Projects: folders in which tools work."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.allowed_hosts import MAX_TEXT, canonical_host, canonical_hosts
from app.core.errors import AlreadyExists, Conflict
from app.core.field_problems import FieldError
from app.core.host_rules import MAX_RULES
from app.core.protected_paths import check_pattern
from app.execution.projects import StoredProject
from app.governance.agents import AgentId

router = routes_of("admin", below="/admin")
projects = Crud(router, "projects", "project_id")

_PROJECT: dict[str, Any] = {
    "id": "prj_1",
    "name": "Website",
    "root": "/srv/website",
    "tcp_ports": [],
    "allowed_hosts": ["github.com:22,443", "*.example.com", "preset:python"],
    "unprotected_paths": [".github/workflows/**"],
    "restrict_to_workspace": True,
    "stored": True,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
Root = Annotated[
    str, Field(min_length=1, max_length=4096, description="Absolute path of a folder.")
]
TcpPorts = Annotated[
    tuple[Annotated[int, Field(ge=1, le=65_535)], ...],
    Field(
        max_length=64,
        # JSON has no tuples, and this model does not coerce types.
        strict=False,
        description="TCP ports that its commands may connect to; empty disables network access.",
    ),
]


def _host(text: str) -> str:
    try:
        return canonical_host(text)
    except ValueError as error:
        raise FieldError(str(error), code="invalid_value") from None


AllowedHosts = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(_host)], ...],
    Field(
        max_length=MAX_RULES,
        strict=False,
        description="Hosts that its commands may connect to by name: a name or an address with "
        "optional ports, 443 when omitted; `*.` and a domain for its subdomains; or `preset:` and "
        "the name of a preset. Cannot be used with `tcp_ports`.",
    ),
    AfterValidator(canonical_hosts),
]


def _pattern(text: str) -> str:
    try:
        check_pattern(text)
    except ValueError as error:
        raise FieldError(f"is not a valid path pattern: {error}", code="no_path_pattern") from None
    return text


UnprotectedPaths = Annotated[
    tuple[
        Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_pattern)],
        ...,
    ],
    Field(
        max_length=64,
        strict=False,
        description="Files that other programs run later and that its tools may write without "
        "approval: a name or `folder/name` at any depth, `*` within a folder, "
        "`folder/**` for everything below it.",
    ),
]
Restricted = Annotated[
    bool,
    Field(
        description="Whether file tools are restricted to its root. If false, they can also "
        "access files outside it with the rights of the service, except the service's "
        "own files. Commands stay restricted."
    ),
]
FORCE = "Also allow a system folder, a home folder, or a folder with the service's own data."


class AdminProject(BaseModel):
    """A project: file tools can only access its root, unless `restrict_to_workspace` is false."""

    model_config = example(**_PROJECT)

    id: str
    name: str
    root: str
    tcp_ports: tuple[int, ...]
    allowed_hosts: tuple[str, ...]
    unprotected_paths: tuple[str, ...]
    restrict_to_workspace: bool
    stored: bool = Field(
        description="False for the project from the settings: only `allowed_hosts` can be changed."
    )
    version: int
    created_at: str | None
    updated_at: str | None

    @classmethod
    def of(cls, project: StoredProject) -> Self:
        return cls(
            id=project.id,
            name=project.name,
            root=project.root,
            tcp_ports=project.tcp_ports,
            allowed_hosts=project.allowed_hosts,
            unprotected_paths=project.unprotected_paths,
            restrict_to_workspace=project.restrict_to_workspace,
            stored=not project.from_settings,
            version=project.version,
            created_at=project.created_at,
            updated_at=project.updated_at,
        )


class AdminProjectPage(BaseModel):
    """Projects by ID."""

    model_config = example(projects=[_PROJECT], total=1, next_after=None)

    projects: list[AdminProject]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewProject(Body):
    """Project to create."""

    model_config = example(id="website", name="Website", root="/srv/website")

    id: AgentId | None = Field(
        default=None, description="ID used by sessions and tokens; generated if omitted."
    )
    name: Name
    root: Root
    tcp_ports: TcpPorts = ()
    allowed_hosts: AllowedHosts = ()
    unprotected_paths: UnprotectedPaths = ()
    restrict_to_workspace: Restricted = True
    force: bool = Field(default=False, description=FORCE)


class ProjectChange(Body):
    """Fields to change; omitted fields stay."""

    model_config = example(name="The website", allowed_hosts=["preset:python"])

    name: Name = unsent()
    root: Root = unsent()
    tcp_ports: TcpPorts = ()
    allowed_hosts: AllowedHosts = ()
    unprotected_paths: UnprotectedPaths = ()
    restrict_to_workspace: Restricted = True
    force: bool = Field(default=False, description=FORCE)


@projects.page(AdminProjectPage, "List projects with their roots")
async def list_governed_projects(service: ServiceDep, principal: Admin) -> Listed[StoredProject]:
    """Scope `admin`."""
    return Listed({item.id: item for item in service.projects.list_all()}, AdminProject.of)


@projects.create("Create a project", AlreadyExists)
async def create_project(body: NewProject, service: ServiceDep, principal: Admin) -> AdminProject:
    """Scope `admin`. The folder must exist; it is not created."""
    made = await service.projects.create(
        body.name,
        body.root,
        tcp_ports=body.tcp_ports,
        allowed_hosts=body.allowed_hosts,
        unprotected_paths=body.unprotected_paths,
        restrict_to_workspace=body.restrict_to_workspace,
        project_id=body.id,
        actor=principal.user_id,
        force=body.force,
    )
    return AdminProject.of(made)


@projects.read("Get a project")
async def get_governed_project(
    project_id: PathId, service: ServiceDep, principal: Admin
) -> AdminProject:
    """Scope `admin`."""
    return AdminProject.of(service.projects.about(project_id))


@projects.change("Update a project", Conflict)
async def change_project(
    project_id: PathId,
    body: ProjectChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminProject:
    """Scope `admin`. A new root applies from the next call on, and may give tools more access."""
    changed = await service.projects.change(
        project_id,
        body.sent("force"),
        actor=principal.user_id,
        expected=expected,
        force=body.force,
    )
    return AdminProject.of(changed)


@projects.remove("Delete a project", Conflict)
async def remove_project(
    project_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminProject:
    """Scope `admin`. Returns the deleted project. Its folder stays; its sessions are readable."""
    gone = await service.projects.remove(project_id, actor=principal.user_id, expected=expected)
    return AdminProject.of(gone)
