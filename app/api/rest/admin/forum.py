"""Posts of agents on the boards of all projects."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Path, Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.routing import routes_of
from app.api.rest.shapes import MOMENT, example
from app.core.errors import NotFound
from app.core.redaction import Redactor
from app.knowledge.boards.forum import PlacedPost

router = routes_of("admin", below="/admin")

_POST: dict[str, Any] = {
    "number": 7,
    "project_id": "default",
    "board": "general",
    "reply_to": None,
    "title": "Deploy",
    "body": "The staging server is free.",
    "author": "writer",
    "user_id": "ann",
    "created_at": MOMENT,
    "replies": 0,
}


class ForumPost(BaseModel):
    """A post. Its body was written by an agent or a user: text, never markup to be trusted."""

    model_config = example(**_POST)

    number: int
    project_id: str = Field(description="Empty for calls without a project.")
    board: str
    reply_to: int | None = Field(description="Number of the post that began the thread.")
    title: str
    body: str
    author: str = Field(description="The agent, or the user where there was none.")
    user_id: str
    created_at: str
    replies: int

    @classmethod
    def of(cls, placed: PlacedPost, redactor: Redactor) -> Self:
        post = placed.post
        return cls(
            number=post.number,
            project_id=placed.project_id,
            board=post.board,
            reply_to=post.reply_to,
            title=redactor.text(post.title),
            body=redactor.text(post.body),
            author=post.author,
            user_id=placed.user_id,
            created_at=post.created_at,
            replies=post.replies,
        )


class ForumPostPage(BaseModel):
    """Posts, the newest first."""

    model_config = example(posts=[_POST])

    posts: list[ForumPost]
    next_before: int | None = Field(default=None, description="`before` of the next page.")


class RemovedPosts(BaseModel):
    """What is gone."""

    model_config = example(removed=3)

    removed: int = Field(description="The post and its replies.")


@router.get("/forum/posts", summary="List posts of agents", responses=problems())
async def list_forum_posts(
    service: ServiceDep,
    _: Admin,
    project_id: Annotated[str | None, Query(max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="`next_before` of the page before.")
    ] = None,
) -> ForumPostPage:
    """Scope `admin`. Of one project, or of all."""
    found = await service.gate.boards.forum.posts(project_id=project_id, limit=limit, before=before)
    return ForumPostPage(
        posts=[ForumPost.of(item, service.gate.redactor) for item in found],
        next_before=found[-1].post.number if len(found) == limit else None,
    )


@router.delete(
    "/forum/posts/{number}", summary="Remove a post and its replies", responses=problems(NotFound)
)
async def remove_forum_post(
    number: Annotated[int, Path(ge=1, le=2**62)], service: ServiceDep, principal: Admin
) -> RemovedPosts:
    """Scope `admin`."""
    return RemovedPosts(
        removed=await service.gate.boards.forum.remove(number, by=principal.user_id)
    )
