"""A caller with a scripted service behind it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from app.domain.delegation import DELEGATION
from app.toolkit.context import ToolContext
from app.toolkit.services import Services
from tests.tools.delegation.scripted import ScriptedDelegation


@dataclass
class House:
    """The service, and calls of two sessions."""

    delegation: ScriptedDelegation

    def ctx(self, session_id: str | None = "ses_1") -> ToolContext:
        services = Services(**{DELEGATION: self.delegation})
        return ToolContext("call_1", "op_1", session_id=session_id, services=services)


@pytest.fixture
def house() -> House:
    return House(ScriptedDelegation())
