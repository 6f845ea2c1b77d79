"""Tables: operators' decisions about skills. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlmodel import Field, SQLModel


class SkillRow(SQLModel, table=True):
    """One decision; a skill without a row has the default of its location.

    `trusted_digest` is the enabled version, `id` as in `app.domain.skills`.
    """

    __tablename__ = "skills"
    id: str = Field(primary_key=True)
    enabled: bool
    trusted_digest: str | None = None
    version: int
    updated_at: str
    updated_by: str
