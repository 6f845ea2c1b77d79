"""`forum`: messages between the agents of a project."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.escaping import MOST_EXACT
from app.core.field_problems import FieldError
from app.domain.owners import actor_of, owner_of
from app.domain.plans import FORUM, Forum, Post
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.planning.returns import FORUM_RESULT
from app.tools.untrusted import untrusted

_PREVIEW = 200


class ForumArgs(ToolArgs):
    action: Literal["post", "reply", "list", "read"] = Field(
        default="list", description="What to do."
    )
    # As a pattern it would take 20 ms to compile: `\w` is all of Unicode.
    board: str | None = Field(
        default=None,
        max_length=64,
        pattern=r"^[\w-]+$",
        description="post: the board, default 'general'; list: only this board.",
    )
    title: str | None = Field(
        default=None, min_length=1, max_length=200, pattern=r"\S", description="post: its title."
    )
    body: str | None = Field(
        default=None, min_length=1, max_length=20_000, pattern=r"\S", description="Message text."
    )
    post: int | None = Field(
        default=None, ge=1, le=MOST_EXACT, description="Number of the post to reply to or read."
    )
    query: str | None = Field(default=None, max_length=200, description="list: text to search for.")
    before: int | None = Field(
        default=None, ge=1, le=MOST_EXACT, description="list: older than this number."
    )
    after: int = Field(
        default=0, ge=0, le=MOST_EXACT, description="read: replies after this number."
    )
    limit: int = Field(default=20, ge=1, le=200, description="Maximum entries.")

    @model_validator(mode="after")
    def _complete(self) -> ForumArgs:
        if self.action == "post" and (self.title is None or self.body is None):
            raise FieldError(
                "post requires title and body", code="needs", given="post", needed="title, body"
            )
        if self.action == "reply" and (self.post is None or self.body is None):
            raise FieldError(
                "reply requires post and body", code="needs", given="reply", needed="post, body"
            )
        if self.action == "read" and self.post is None:
            raise FieldError("read requires post", code="needs", given="read", needed="post")
        return self


@tool(
    category="planning",
    toolset="planning",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    requires=(FORUM,),
    routing_hint="main-process-proxy",
    tags=("agents",),
    argument_aliases={"post_id": "post", "thread": "post", "content": "body"},
    return_schema=FORUM_RESULT,
)
async def forum(args: ForumArgs, ctx: ToolContext) -> ToolResult:
    """Post messages for the other agents of this project, and read theirs.

    `post` starts a thread on a board, `reply` answers one, `list` returns the newest threads,
    `read` one thread with its replies. Every member of this project can read them: do not post
    secrets. Returns the post or posts.
    """
    board = ctx.services.require(FORUM, Forum)  # type: ignore[type-abstract]
    place = ctx.project_id or ""
    if args.action in ("post", "reply"):
        assert args.body is not None
        made = await board.post(
            place,
            board=args.board or "general",
            title=args.title or "",
            body=args.body,
            author=actor_of(ctx),
            user_id=owner_of(ctx),
            reply_to=args.post if args.action == "reply" else None,
        )
        return ToolResult.ok({"post": asdict(made)}, text=f"Post {made.number} on {made.board}")
    if args.action == "list":
        found = await board.threads(place, args.board, args.query, args.limit, args.before)
        return _shown([_short(post) for post in found], found)
    assert args.post is not None
    first, replies = await board.thread(place, args.post, args.limit, args.after)
    posts = [first, *replies]
    return _shown([f"{_head(post)}\n{post.body}" for post in posts], posts)


def _shown(texts: list[str], posts: list[Post]) -> ToolResult:
    data: dict[str, Any] = {"posts": [asdict(post) for post in posts]}
    text = untrusted("\n\n".join(texts), "forum") if texts else "No posts"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


def _short(post: Post) -> str:
    body = " ".join(post.body.split())
    shown = body if len(body) <= _PREVIEW else body[: _PREVIEW - 1] + "…"
    return f"{_head(post)} ({post.replies} replies)\n{shown}"


def _head(post: Post) -> str:
    title = f" {post.title}" if post.title else ""
    return f"#{post.number} {post.board}, {post.author}, {post.created_at}:{title}"
