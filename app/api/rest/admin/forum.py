"""Forum boards of all projects, with posts of agents and administrators."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, Identifier
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import MADE, show_place
from app.api.rest.routing import PREFIX, routes_of
from app.core.errors import NotFound, ToolFailed
from app.core.redaction import Redactor
from app.execution.projects import DEFAULT_PROJECT
from app.knowledge.boards.forum import PlacedPost

router = routes_of("admin", below="/admin")

Number = Annotated[int, Path(ge=1, le=2**62)]

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
_REPLY = {**_POST, "number": 8, "reply_to": 7, "title": "", "body": "Deployed.", "replies": 0}


class ForumPost(BaseModel):
    """A forum post. Its body is untrusted text of an agent or a user; never render it as markup."""

    model_config = example(**_POST)

    number: int
    project_id: str = Field(description="Empty for calls without a project.")
    board: str
    reply_to: int | None = Field(description="ID of the first post in the thread.")
    title: str
    body: str
    author: str = Field(description="The agent, or the user if there was no agent.")
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
    """Posts, newest first."""

    model_config = example(posts=[_POST])

    posts: list[ForumPost]
    next_before: int | None = Field(default=None, description="Cursor: `before` of the next page.")


class ForumThread(BaseModel):
    """A thread: its first post, and its replies, oldest first."""

    model_config = example(post={**_POST, "replies": 1}, replies=[_REPLY], next_after=None)

    post: ForumPost
    replies: list[ForumPost]
    next_after: int | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewReply(Body):
    """Reply to post in a thread."""

    model_config = example(body="Deployed.")

    body: Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]


class NewThread(NewReply):
    """First post of a thread. Every agent of the project can read it."""

    model_config = example(title="Deploy", body="The staging server is free.")

    project_id: Identifier | None = Field(
        default=DEFAULT_PROJECT, description="Null for calls without a project."
    )
    board: Annotated[str, Field(max_length=64, pattern=r"^[\w-]+$")] = "general"
    title: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class RemovedPosts(BaseModel):
    """Number of deleted posts."""

    model_config = example(removed=3)

    removed: int = Field(description="The post and its replies.")


@router.get("/forum/posts", summary="List forum posts", responses=problems())
async def list_forum_posts(
    service: ServiceDep,
    _: Admin,
    project_id: Annotated[str | None, Query(max_length=128)] = None,
    threads: Annotated[bool, Query(description="Only posts that start a thread.")] = False,  # noqa: FBT002 - a query parameter
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="`next_before` of the previous page.")
    ] = None,
) -> ForumPostPage:
    """Scope `admin`. Posts of one project or of all, newest first."""
    found = await service.boards.forum.posts(
        project_id=project_id, limit=limit, before=before, threads=threads
    )
    return ForumPostPage(
        posts=[ForumPost.of(item, service.redactor) for item in found],
        next_before=found[-1].post.number if len(found) == limit else None,
    )


@router.post(
    "/forum/posts",
    status_code=201,
    summary="Start a thread",
    responses={**MADE, **problems(NotFound, ToolFailed, body=True)},
)
async def begin_forum_thread(
    body: NewThread, service: ServiceDep, principal: Admin, request: Request, response: Response
) -> ForumPost:
    """Scope `admin`. The author is the token's user; the post is recorded in the audit log."""
    if body.project_id is not None:
        service.projects.about(body.project_id)
    made = await service.boards.forum.post(
        body.project_id or "",
        board=body.board,
        title=body.title,
        body=body.body,
        author=principal.user_id,
        user_id=principal.user_id,
        audited=True,
    )
    show_place(request, response, str(made.number))
    placed = PlacedPost(body.project_id or "", principal.user_id, made)
    return ForumPost.of(placed, service.redactor)


@router.get(
    "/forum/posts/{number}", summary="Get a thread with its replies", responses=problems(NotFound)
)
async def get_forum_thread(
    number: Number,
    service: ServiceDep,
    _: Admin,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    after: Annotated[
        int, Query(ge=0, le=2**62, description="`next_after` of the previous page.")
    ] = 0,
) -> ForumThread:
    """Scope `admin`. For the number of a reply, returns its thread."""
    redactor = service.redactor
    first, replies = await service.boards.forum.placed_thread(number, limit=limit, after=after)
    return ForumThread(
        post=ForumPost.of(first, redactor),
        replies=[ForumPost.of(reply, redactor) for reply in replies],
        next_after=replies[-1].post.number if len(replies) == limit else None,
    )


@router.post(
    "/forum/posts/{number}/replies",
    status_code=201,
    summary="Reply to a thread",
    responses={**MADE, **problems(NotFound, ToolFailed, body=True)},
)
async def reply_in_forum(
    number: Number, body: NewReply, service: ServiceDep, principal: Admin, response: Response
) -> ForumPost:
    """Scope `admin`. The author is the token's user; the post is recorded in the audit log."""
    forum = service.boards.forum
    first, _ = await forum.placed_thread(number, limit=1, after=0)
    made = await forum.post(
        first.project_id,
        board=first.post.board,
        title="",
        body=body.body,
        author=principal.user_id,
        user_id=principal.user_id,
        reply_to=first.post.number,
        audited=True,
    )
    response.headers["Location"] = f"{PREFIX}/admin/forum/posts/{made.number}"
    placed = PlacedPost(first.project_id, principal.user_id, made)
    return ForumPost.of(placed, service.redactor)


@router.delete(
    "/forum/posts/{number}", summary="Delete a post and its replies", responses=problems(NotFound)
)
async def remove_forum_post(number: Number, service: ServiceDep, principal: Admin) -> RemovedPosts:
    """Scope `admin`."""
    return RemovedPosts(removed=await service.boards.forum.remove(number, by=principal.user_id))
