"""Where a host is reached: resolved once, and refused as a whole."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import pytest

from app.operations.egress.destinations import CheckedDestinations
from app.operations.egress.refusal import ConnectionRefused
from app.operations.web.addresses import Reach

PUBLIC, PRIVATE = "93.184.216.34", "10.1.2.3"


class Names:
    """Resolver with one answer after the other."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if not self.answers:
            raise OSError("no such host")
        return self.answers.pop(0)

    def close(self) -> None:
        """Nothing to close."""


def destinations(names: Names, *networks: str, own: frozenset[int] = frozenset()):
    allowed = tuple(ipaddress.ip_network(text) for text in networks)
    return CheckedDestinations(names, Reach(allowed, lambda: own), "sandbox.allow_networks")


@pytest.mark.requirement("WB-08")
async def test_a_second_answer_of_the_name_server_has_no_effect():
    names = Names([PUBLIC], [PRIVATE])
    found = destinations(names, "10.0.0.0/8")
    assert await found.of("a.example", 443) == [(PUBLIC, 443)]
    assert await found.of("a.example", 80) == [(PUBLIC, 80)]
    assert names.asked == ["a.example"]


@pytest.mark.requirement("WB-05")
async def test_one_address_that_is_refused_refuses_the_host():
    for answer in ([PUBLIC, PRIVATE], ["::1", PUBLIC], ["::ffff:10.0.0.1"]):
        with pytest.raises(ConnectionRefused) as refused:
            await destinations(Names(answer)).of("a.example", 443)
        assert refused.value.code == "address_refused"
        assert "sandbox.allow_networks" in refused.value.reason
        assert not any(address in refused.value.reason for address in answer)


async def test_a_listed_network_may_be_reached_but_never_the_service_itself():
    found = destinations(Names([PRIVATE]), "10.0.0.0/8", own=frozenset({8000}))
    assert await found.of("a.example", 443) == [(PRIVATE, 443)]
    with pytest.raises(ConnectionRefused):
        await found.of("a.example", 8000)


async def test_an_address_needs_no_resolver_and_is_checked_too():
    names = Names()
    assert await destinations(names).of(PUBLIC, 443) == [(PUBLIC, 443)]
    with pytest.raises(ConnectionRefused):
        await destinations(names).of("169.254.169.254", 80)
    assert names.asked == []


async def test_a_host_without_an_address_is_unreachable():
    with pytest.raises(ConnectionRefused) as refused:
        await destinations(Names()).of("a.example", 443)
    assert refused.value.code == "unreachable"
