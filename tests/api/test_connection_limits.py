"""Who makes room when all places are taken, by a clock of the test's own."""

from __future__ import annotations

import pytest

from app.api.connection_limits import ConnectionLimits
from app.config.server import ServingSettings
from app.core.errors import TollgateError

FEW = ServingSettings(connections=9)


class Client:
    """A connection that waits for its client from a given second on, or is answered."""

    def __init__(self, since: float | None, *, is_answering: bool = False) -> None:
        self.since = since
        self.answering = is_answering
        self.is_dropped = False

    def is_waiting_since(self) -> float | None:
        return self.since

    def is_incomplete(self) -> bool:
        return False

    def is_answering(self) -> bool:
        return self.answering

    def refuse(self, error: TollgateError) -> None:
        raise error

    def look_after(self, now: float) -> None:
        """Nothing takes too long here."""

    def drop(self) -> None:
        self.is_dropped = True


class Service:
    """The places of a service with 6 ordinary and 3 spare ones, and its clock."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.limits = ConnectionLimits(FEW, now=lambda: self.now_s)

    def connect(self, client: Client) -> Client:
        self.limits.open(client, "127.0.0.1")
        return client

    def fill(self) -> list[Client]:
        return [self.connect(Client(self.now_s)) for _ in range(6)]

    def fill_with_busy(self) -> None:
        for _ in range(6):
            self.connect(Client(None))


@pytest.fixture
async def service() -> Service:
    return Service()


async def test_who_has_waited_longest_makes_room(service: Service):
    first, *others = service.fill()
    service.now_s += 2
    service.limits.sweep()
    service.limits.sweep()
    service.connect(Client(service.now_s))
    assert first.is_dropped
    assert not any(client.is_dropped for client in others)


@pytest.mark.parametrize("sweeps", [0, 1])
async def test_time_in_which_the_service_has_read_nothing_is_not_waited(
    service: Service, sweeps: int
):
    clients = service.fill()
    service.now_s += 60
    for _ in range(sweeps):
        service.limits.sweep()
    service.connect(Client(service.now_s))
    assert not any(client.is_dropped for client in clients)


async def test_a_spare_place_ends_when_its_client_sends_nothing(service: Service):
    service.fill_with_busy()
    spare = service.connect(Client(service.now_s))
    service.now_s += 60
    service.limits.sweep()
    assert not spare.is_dropped
    service.limits.sweep()
    assert spare.is_dropped


async def test_a_spare_place_stays_while_the_service_answers(service: Service):
    service.fill_with_busy()
    answered = service.connect(Client(None, is_answering=True))
    service.now_s += 60
    service.limits.sweep()
    service.limits.sweep()
    assert not answered.is_dropped
    waiting = service.connect(Client(service.now_s))
    for _ in range(2):
        service.connect(Client(service.now_s))
    assert (answered.is_dropped, waiting.is_dropped) == (False, True)


async def test_the_oldest_spare_place_ends_when_all_are_answered(service: Service):
    service.fill_with_busy()
    oldest = service.connect(Client(None, is_answering=True))
    for _ in range(3):
        service.connect(Client(None, is_answering=True))
    assert oldest.is_dropped


async def test_a_share_is_full_only_when_the_service_has_looked_for_its_data(service: Service):
    most = FEW.connections_per_address
    limits = ConnectionLimits(ServingSettings(connections=4 * most), now=lambda: service.now_s)
    for _ in range(most):
        limits.open(Client(None), "127.0.0.2")
    service.now_s += 60
    limits.sweep()
    assert not limits.open(Client(None), "127.0.0.2").is_spare
    limits.sweep()
    assert limits.open(Client(None), "127.0.0.2").is_spare


async def test_a_share_stays_full_while_one_of_it_makes_requests(service: Service):
    most = FEW.connections_per_address
    limits = ConnectionLimits(ServingSettings(connections=4 * most), now=lambda: service.now_s)
    places = [limits.open(Client(None), "127.0.0.2") for _ in range(most)]
    service.now_s += 60
    for _ in range(2):
        limits.sweep()
        limits.begin_request(places[-1], [])
        limits.end_request(places[-1])
    assert limits.open(Client(None), "127.0.0.2").is_spare
