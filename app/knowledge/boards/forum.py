"""Forum: boards for messages between the agents of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import NotFound, ToolFailed
from app.db.writer import DatabaseWriter, Transaction
from app.domain.plans import Post
from app.governance.audit.log import AuditEntry, AuditLog
from app.knowledge.boards.text_search import LIKE, pattern_of

MAX_POSTS = 100_000

_COLUMNS = "number, board, reply_to, title, body, author, created_at"
_REPLIES = "(SELECT COUNT(*) FROM forum_posts AS r WHERE r.reply_to = forum_posts.number)"
_FROM = f"SELECT {_COLUMNS}, {_REPLIES} FROM forum_posts WHERE "  # noqa: S608 - constants of this file
_PLACED = f"SELECT project_id, user_id, {_COLUMNS}, {_REPLIES} FROM forum_posts WHERE "  # noqa: S608 - as above
_ADD = (
    "INSERT INTO forum_posts (project_id, board, reply_to, title, body, author, user_id,"
    " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"
)
_COUNT = "SELECT COUNT(*) FROM forum_posts WHERE project_id = ?"
_ONE = f"{_FROM}project_id = ? AND number = ?"
_LINES = "SELECT project_id, user_id, board, title FROM forum_posts WHERE number = ?"
_DELETE = "DELETE FROM forum_posts WHERE number = ? OR reply_to = ?"


@dataclass(frozen=True, slots=True)
class PlacedPost:
    """Post with its project and user."""

    project_id: str
    user_id: str
    post: Post


class ForumRepository:
    """`Forum` in the database, with operations for administrators."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    async def post(
        self,
        project_id: str,
        *,
        board: str,
        title: str,
        body: str,
        author: str,
        user_id: str,
        reply_to: int | None = None,
        audited: bool = False,
    ) -> Post:
        moment = isoformat(self._clock.now())

        def add(transaction: Transaction) -> Post:
            if transaction.fetch(_COUNT, (project_id,))[0][0] >= MAX_POSTS:
                raise ToolFailed(
                    "The boards of this project have reached the maximum of "
                    f"{MAX_POSTS} posts; an administrator must delete some",
                    code="too_many_posts",
                )
            answered = None if reply_to is None else _first(transaction, project_id, reply_to)
            place = (board, None) if answered is None else (answered.board, answered.number)
            row = (project_id, *place, title, body, author, user_id, moment)
            number = transaction.fetch(_ADD, row)[0][0]
            if audited:
                where = {"project_id": project_id, "board": place[0], "reply_to": place[1]}
                self._audit.within(
                    transaction,
                    AuditEntry(
                        "forum.post",
                        actor=user_id,
                        subject=str(number),
                        after={**where, "title": title, "body": body},
                        outcome="written",
                    ),
                )
            return Post(number, place[0], place[1], title, body, author, moment)

        return await self._db.transact(add)

    async def threads(
        self, project_id: str, board: str | None, query: str | None, limit: int, before: int | None
    ) -> list[Post]:
        where, values = ["project_id = ?", "reply_to IS NULL"], [project_id]
        if board is not None:
            where.append("board = ?")
            values.append(board)
        if query:
            where.append(
                f"(title {LIKE} OR body {LIKE} OR EXISTS (SELECT 1 FROM forum_posts AS r"  # noqa: S608 - as above
                f" WHERE r.reply_to = forum_posts.number AND r.body {LIKE}))"
            )
            values += [pattern_of(query)] * 3
        return await self._page(where, values, limit, before)

    async def thread(
        self, project_id: str, number: int, limit: int, after: int
    ) -> tuple[Post, list[Post]]:
        def read(transaction: Transaction) -> tuple[Post, list[Post]]:
            first = _first(transaction, project_id, number)
            rows = transaction.fetch(
                f"{_FROM}project_id = ? AND reply_to = ? AND number > ? ORDER BY number LIMIT ?",
                (project_id, first.number, after, limit),
            )
            return first, [Post(*row) for row in rows]

        return await self._db.transact(read)

    async def posts(
        self, *, project_id: str | None, limit: int, before: int | None, threads: bool = False
    ) -> list[PlacedPost]:
        """Return posts of one project or of all, newest first; for administrators.

        Args:
            threads: only first posts of threads.
        """
        where, values = ("project_id = ?", [project_id]) if project_id is not None else ("1", [])
        if threads:
            where += " AND reply_to IS NULL"
        if before is not None:
            where += " AND number < ?"

        def read(transaction: Transaction) -> list[PlacedPost]:
            rows = transaction.fetch(
                f"{_PLACED}{where} ORDER BY number DESC LIMIT ?",
                (*values, *((before,) if before is not None else ()), limit),
            )
            return [_placed(row) for row in rows]

        return await self._db.transact(read)

    async def placed_thread(
        self, number: int, *, limit: int, after: int
    ) -> tuple[PlacedPost, list[PlacedPost]]:
        """Return the thread of a post, oldest reply first; for administrators.

        Args:
            after: only replies after this number; `limit` of them at most.

        Raises:
            NotFound: the post does not exist.
        """

        def read(transaction: Transaction) -> tuple[PlacedPost, list[PlacedPost]]:
            found = transaction.fetch(f"{_PLACED}number = ?", (number,))
            if not found:
                raise NotFound(f"Post {number} not found", number=number)
            post = _placed(found[0])
            if post.post.reply_to is not None:
                post = _placed(transaction.fetch(f"{_PLACED}number = ?", (post.post.reply_to,))[0])
            rows = transaction.fetch(
                f"{_PLACED}reply_to = ? AND number > ? ORDER BY number LIMIT ?",
                (post.post.number, after, limit),
            )
            return post, [_placed(row) for row in rows]

        return await self._db.transact(read)

    async def remove(self, number: int, *, by: str) -> int:
        """Delete a post and its replies; return their number; for administrators.

        Raises:
            NotFound: the post does not exist.
        """

        def drop(transaction: Transaction) -> int:
            found = transaction.fetch(_LINES, (number,))
            if not found:
                raise NotFound(f"Post {number} not found", number=number)
            project_id, user_id, board, title = found[0]
            gone = transaction.execute(_DELETE, (number, number))
            self._audit.within(
                transaction,
                AuditEntry(
                    "forum.post",
                    actor=by,
                    subject=str(number),
                    before={
                        "project_id": project_id,
                        "user_id": user_id,
                        "board": board,
                        "title": title,
                    },
                    outcome="removed",
                    detail={"posts": gone},
                ),
            )
            return gone

        return await self._db.transact(drop)

    async def _page(
        self, where: list[str], values: list[Any], limit: int, before: int | None
    ) -> list[Post]:
        if before is not None:
            where, values = [*where, "number < ?"], [*values, before]
        sql = f"{_FROM}{' AND '.join(where)} ORDER BY number DESC LIMIT ?"

        def read(transaction: Transaction) -> list[Post]:
            return [Post(*row) for row in transaction.fetch(sql, (*values, limit))]

        return await self._db.transact(read)


def _placed(row: Sequence[Any]) -> PlacedPost:
    return PlacedPost(row[0], row[1], Post(*row[2:]))


def _first(transaction: Transaction, project_id: str, number: int) -> Post:
    """Return the first post of the thread."""
    found = transaction.fetch(_ONE, (project_id, number))
    if not found:
        raise ToolFailed(f"Post {number} not found in this project", code="not_found")
    post = Post(*found[0])
    return post if post.reply_to is None else _first(transaction, project_id, post.reply_to)
