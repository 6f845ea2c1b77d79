"""Chat accounts that may answer requests of the current user."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from app.api.deps import Approver, ServiceDep
from app.api.errors import problems
from app.api.rest.body import PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.channels.notifications.chat_answers import ChatKind, ChatLink
from app.core.errors import NotFound

router = routes_of("identity")

_LINK: dict[str, Any] = {
    "id": "lnk_1",
    "channel": "telegram",
    "sender": "41",
    "created_at": MOMENT,
}


class ChatLinkView(BaseModel):
    """A linked chat account."""

    model_config = example(**_LINK)

    id: str
    channel: ChatKind
    sender: str = Field(description="ID of the account at the chat service.")
    created_at: str

    @classmethod
    def of(cls, link: ChatLink) -> Self:
        return cls(id=link.id, channel=link.channel, sender=link.sender, created_at=link.created_at)


class ChatLinkList(BaseModel):
    """Linked chat accounts, oldest first."""

    model_config = example(links=[_LINK])

    links: list[ChatLinkView]


class ChatLinkCode(BaseModel):
    """Code to send to the bot or app. It is shown only once."""

    model_config = example(link_code="pVx1mYkq2a3b4c5d6e7f", expires_at=MOMENT)

    link_code: str
    expires_at: str


@router.get("/me/chat-links", summary="List linked chat accounts", responses=problems())
async def list_chat_links(service: ServiceDep, principal: Approver) -> ChatLinkList:
    """Scope `approve`."""
    links = await service.chat_links.of_user(principal.user_id)
    return ChatLinkList(links=[ChatLinkView.of(link) for link in links])


@router.post(
    "/me/chat-links/code", summary="Create a code for a chat account", responses=problems()
)
async def create_chat_link_code(service: ServiceDep, principal: Approver) -> ChatLinkCode:
    """Scope `approve`. Send `link CODE` to the bot or app within ten minutes."""
    made = await service.chat_links.create_code(principal.user_id, principal.token_id)
    return ChatLinkCode(link_code=made.text, expires_at=made.expires_at)


@router.delete(
    "/me/chat-links/{link_id}", summary="Unlink a chat account", responses=problems(NotFound)
)
async def remove_chat_link(
    link_id: PathId, service: ServiceDep, principal: Approver
) -> ChatLinkView:
    """Scope `approve`. Its buttons stop working immediately."""
    return ChatLinkView.of(await service.chat_links.remove(link_id, user_id=principal.user_id))
