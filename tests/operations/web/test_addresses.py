"""Which addresses are public, however they are written."""

from __future__ import annotations

import ipaddress

import pytest

from app.operations.web.addresses import ANYWHERE, Reach, is_here, is_public, written_address

PRIVATE = (
    *("0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1"),
    *("127.255.255.254", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1"),
    *("198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1"),
    *("fd00:ec2::254", "ff02::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1", "2001:10::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::7f00:1"),
    *("::ffff:0:127.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2002:c0a8:101::1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
    *("2001:0:53aa:64c:0:7fff:f5ff:fffe", "2a00::5efe:7f00:1", "2a00::200:5efe:a00:1"),
    *("no address", "", "1.2.3", "8.8.8.8.8"),
)
PUBLIC = (
    *("8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111"),
    *("::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_known(address: str):
    assert is_public(address) is False
    assert Reach().refuses(address, 80) is not None


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_known(address: str):
    assert is_public(address) is True
    assert Reach().refuses(address, 80) is None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        *(("2130706433", "127.0.0.1"), ("0177.1", "127.0.0.1"), ("127.1", "127.0.0.1")),
        *(("0x7f.0.0.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("0", "0.0.0.0")),
        *(("192.168.257", "192.168.1.1"), ("0300.0250.1.1", "192.168.1.1"), ("0x", "0.0.0.0")),
        *(("017700000001", "127.0.0.1"), ("1.1.1.1", "1.1.1.1"), ("example.org", None)),
        *(("a.1x", None), ("localhost", None)),
    ],
)
def test_a_number_is_read_as_a_c_library_reads_it(host: str, address: str | None):
    assert written_address(host) == address


@pytest.mark.parametrize(
    "host", ["1.2.3.4.5", "256.1.1.1", "4294967296", "08.1", "1.2.3.256", "a.1", "0xg", "1" * 50]
)
def test_what_ends_in_a_number_and_is_no_address_is_refused(host: str):
    if host == "0xg":
        assert written_address(host) is None
        return
    with pytest.raises(ValueError, match=r".*"):
        written_address(host)


def test_an_allowed_network_is_reached_and_its_neighbours_are_not():
    reach = Reach((ipaddress.ip_network("10.1.0.0/16"),))
    assert reach.refuses("10.1.2.3", 80) is None
    assert reach.refuses("::ffff:10.1.2.3", 80) is None
    assert reach.refuses("10.2.2.3", 80) is not None
    assert reach.refuses("127.0.0.1", 80) is not None


def test_our_own_port_is_not_reached_whatever_is_allowed():
    ports = {8420}
    reach = Reach(ANYWHERE, lambda: frozenset(ports))
    for address in ("127.0.0.1", "::1", "10.0.0.5", "0.0.0.0", "::ffff:127.0.0.1"):
        assert reach.refuses(address, 8420) == "where this service may be listening"
        assert reach.refuses(address, 8421) is None
    assert reach.refuses("8.8.8.8", 8420) is None
    ports.add(8421)
    assert reach.refuses("127.0.0.1", 8421) is not None


def test_this_machine_knows_its_own_addresses():
    assert is_here(ipaddress.ip_address("127.0.0.1"))
    assert not is_here(ipaddress.ip_address("8.8.8.8"))
