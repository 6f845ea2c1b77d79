"""Sender of the requests that the operator allows."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from app.core.errors import ConfigurationError, ToolFailed
from app.core.redaction import Redactor
from app.domain.outbound_requests import Answered, RequestInput
from app.domain.web import WEB_ACCESS
from app.knowledge.outbound_requests.allow_list import AllowList
from app.knowledge.outbound_requests.headers import header_problem
from app.knowledge.outbound_requests.model import OutboundRequest
from app.knowledge.outbound_requests.store import OutboundRequestStore
from app.operations.web.protocol import WebAccess, WebResponse
from app.toolkit.services import Services

TIMEOUT_S = 30.0
MAX_SHOWN_BYTES = 8192
# A secret repeated in a response must not escape through the truncation.
_LOOKED_AT = 65_536
_CHARSET = re.compile(r"charset=\"?([A-Za-z0-9_\-]{1,40})", re.IGNORECASE)
# Other codecs of Python are not text encodings, or deliberately slow.
_KNOWN = re.compile(
    r"utf-?(?:8|16|32)(?:le|be)?|us-ascii|iso-8859-\d+|latin-?1|windows-125\d|cp\d+|koi8-[ru]"
    r"|gb(?:k|2312|18030)|big5|shift_jis|euc-(?:jp|kr)"
)


class OutboundRequests:
    """`OutboundRequestSender`. Redirects are returned, because their targets were not approved."""

    def __init__(
        self,
        store: OutboundRequestStore,
        allowed: AllowList,
        services: Services,
        redactor: Redactor,
    ) -> None:
        self.store = store
        self._allowed = allowed
        self._services = services
        self._redactor = redactor

    @property
    def is_of_use(self) -> bool:
        """Return whether any request is possible."""
        return bool(self._allowed) or any(item.enabled for item in self.store.list_all())

    def confirmation_reason(self, name: str | None) -> str | None:
        if name is None:
            return "it sends a request to another system"
        found = self.store.named(name)
        # A missing trigger may exist when the call runs.
        if found is None or not found.free:
            return f"it sends the request {name!r} to another system"
        return None

    async def send(self, wanted: RequestInput, *, agent_id: str | None) -> Answered:
        if wanted.name is not None:
            return await self._send_named(wanted.name, wanted.body, agent_id)
        url, trusted = self._allowed.check(wanted.url or "")
        if (problem := header_problem(wanted.headers, stored=False)) is not None:
            raise ToolFailed(f"headers: {problem}", code="invalid_headers")
        answer = await self._web().request(
            wanted.method,
            str(url),
            headers=_typed(wanted.headers, wanted.body),
            body=_encoded(wanted.body),
            timeout_s=TIMEOUT_S,
            trusted=trusted,
        )
        return self._answered(str(url), wanted.method, answer)

    async def _send_named(self, name: str, body: str | None, agent_id: str | None) -> Answered:
        trigger = self._found(name, agent_id)
        if body is not None and not trigger.body_from_call:
            raise ToolFailed(
                f"The trigger {name!r} sends its own body: omit the body", code="body_refused"
            )
        sent = trigger.body if body is None else body
        try:
            target = self.store.target(trigger)
        except ConfigurationError:
            raise ToolFailed(
                f"The trigger {name!r} is unusable: its secrets cannot be decrypted; "
                "contact the operator",
                code="trigger_broken",
            ) from None
        try:
            answer = await self._web().request(
                trigger.method,
                target.url,
                headers=_typed(target.headers, sent),
                body=_encoded(sent),
                timeout_s=TIMEOUT_S,
                trusted=trigger.origin,
            )
        except ToolFailed as error:
            raise _unnamed(error, name) from None
        return self._answered(name, trigger.method, answer)

    def _found(self, name: str, agent_id: str | None) -> OutboundRequest:
        found = self.store.named(name)
        if found is None or not found.is_for(agent_id):
            there = [item.name for item in self.store.list_all() if item.is_for(agent_id)]
            listed = f"; available are {', '.join(there[:50])}" if there else "; none is available"
            raise ToolFailed(f"Trigger {name[:64]!r} not found{listed}", code="not_found")
        return found

    def _web(self) -> WebAccess:
        return self._services.require(WEB_ACCESS, WebAccess)  # type: ignore[type-abstract]

    def _answered(self, shown: str, method: str, answer: WebResponse) -> Answered:
        text = _decoded(answer)
        masked = self._redactor.text(text).encode()
        cut = len(masked) > MAX_SHOWN_BYTES or len(answer.body) > _LOOKED_AT
        # A character split by the truncation is dropped.
        body = masked[:MAX_SHOWN_BYTES].decode(errors="ignore")
        return Answered(shown, method, answer.status, body, cut)


def _decoded(answer: WebResponse) -> str:
    """Decode the beginning of the body in its declared encoding."""
    found = _CHARSET.search(answer.header("content-type") or "")
    charset = found[1].lower() if found else "utf-8"
    body = answer.body[:_LOOKED_AT]
    try:
        return body.decode(charset if _KNOWN.fullmatch(charset) else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _typed(headers: Mapping[str, str], body: str | None) -> dict[str, str]:
    """Add a content type if there is a body without one."""
    if body is None or any(name.lower() == "content-type" for name in headers):
        return dict(headers)
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return {**headers, "Content-Type": "text/plain; charset=utf-8"}
    return {**headers, "Content-Type": "application/json"}


def _encoded(body: str | None) -> bytes | None:
    return None if body is None else body.encode(errors="replace")


def _unnamed(error: ToolFailed, name: str) -> ToolFailed:
    """Return an error without the address, which may be secret."""
    return ToolFailed(
        f"The request of the trigger {name!r} failed "
        f"({error.details.get('code', error.code)}); it may have arrived",
        code=error.details.get("code", error.code),
    )
