"""Nothing but the public Internet is reached, whatever a page or a model tries."""

from __future__ import annotations

import pytest

from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.core.errors import ToolFailed
from app.operations.web.client import Web
from tests.operations.web.site import PUBLIC, Internet, Names, Site, answer, redirect

# Each of these must be refused without a packet.
FORBIDDEN = (
    *("http://127.0.0.1/", "http://127.0.0.1:8420/", "http://127.1/", "http://127.0.1/"),
    *("http://2130706433/", "http://0177.0.0.1/", "http://0177.1/", "http://0x7f.1/"),
    *("http://0x7f000001/", "http://0x7F.0x0.0x0.0x1/", "http://017700000001/"),
    *("http://00000000177.0.0.1/", "http://127.0.0.1./", "http://0/", "http://0.0.0.0/"),
    *("http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/"),
    *("http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/"),
    *("http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/"),
    *("http://[::ffff:7f00:1]/", "http://[::ffff:a9fe:a9fe]/", "http://[::127.0.0.1]/"),
    *("http://[::ffff:0:7f00:1]/", "http://[2002:7f00:1::]/", "http://[64:ff9b::7f00:1]/"),
    *("http://[64:ff9b:1::1]/", "http://[2001:0:53aa:64c:0:7fff:f5ff:fffe]/"),
    *("http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/"),
    *("http://[fc00::1]/", "http://[fd00:ec2::254]/latest/meta-data/", "http://[fec0::1]/"),
    *("http://[ff02::1]/", "http://[2001:db8::1]/", "http://[100::1]/"),
    *("http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xA9FEA9FE/"),
    *("http://0251.0376.0251.0376/", "http://169.254.43518/", "http://100.100.100.200/"),
    *("http://168.63.129.16/", "http://192.0.0.192/", "http://169.254.170.2/v2/credentials"),
    *("http://metadata.google.internal/", "http://intranet.test/", "https://intranet.test/"),
    *("http://10.0.0.1/", "http://10.1/", "http://172.16.0.1/", "http://192.168.0.1/"),
    *("http://192.168.257/", "http://100.64.0.1/", "http://198.18.0.1/", "http://224.0.0.1/"),
    *("http://240.0.0.1/", "http://255.255.255.255/", "http://192.88.99.1/", "http://203.0.113.1/"),
    *("http://mixed.test/", "http://mapped.test/", "http://zone.test/", "http://nat.test/"),
    *("http://nowhere.test/", "http://user@public.test/", "http://public.test@127.0.0.1/"),
    *("http://127.0.0.1\\@public.test/", "http://public.test:22/", "http://public.test:6379/"),
    *("http://127.0.0.1#@public.test/", "http://127.0.0.1%00.public.test/", "file:///etc/passwd"),
    *("gopher://127.0.0.1:6379/_INFO", "dict://127.0.0.1:11211/", "ftp://public.test/"),
    *("http://%6c%6f%63%61%6c%68%6f%73%74/", "http:127.0.0.1/", "http:////127.0.0.1/"),
    *("jar:http://public.test!/", "http://1.2.3.4.5/", "http://[127.0.0.1]/", "http://lоcalhost/"),
    *("http://[::1.]/", "http://[::1].public.test/", "http://[::1]public.test/"),
    *("http://public.test[::1]/", "http://[::1]@public.test/", "http://[public.test]/"),
    *("http://[::ffff:127.1]/", "http://[::ffff:0x7f.0.0.1]/", "http://[::ffff:2130706433]/"),
    *("http://[::ffff:100.100.100.200]/", "http://[::ffff:168.63.129.16]/"),
    *("http://[64:ff9b::169.254.169.254]/", "http://[64:ff9b:1:a9fe:a9:fe00::]/"),
    *("http://[2002:a9fe:a9fe:dead::1]/", "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/"),
    *("http://[2606:4700::5efe:10.0.0.1]/", "http://[2606:4700::200:5efe:192.168.0.1]/"),
    *("http://[fd20:ce::254]/", "http://[3fff:fff::1]/", "http://[4000::1]/", "http://[1::1]/"),
    *("http://[v1.fe80::a]/", "http://[fe80::1%251]/", "http://[::1]\\@public.test/"),
    *("http://public.test:80@127.0.0.1/", "http://127.0.0.1:80@public.test/"),
    *("http://public.test%40127.0.0.1/", "http://a@b@127.0.0.1/", "http://:@127.0.0.1/"),
    *("http://127.0.0.1;.public.test/", "http://127.0.0.1,public.test/"),
    *("http://127.0.0.1%23.public.test/", "http://127.0.0.1%5c.public.test/"),
    *("http://127.0.0.1?@public.test/", "http:\\\\127.0.0.1\\", "http:/\\127.0.0.1/"),
    *("http://localhost../", "http://localhost。/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://loca\xadlhost/"),
    *("http://local\u200bhost/", "http://127․0․0․1/", "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", "http://0x７f.1/"),
    *("http://١٢٧.٠.٠.١/", "http://⑴27.0.0.1/", "http://127..0.0.1/", "http://127.0x0.00.01/"),
    *("http://127.65535/", "http://0x7f.0xffffff/", "http://0x00000000007f000001/"),
    *("http://0x17f000001/", "http://6425673729/", "http://0000000000000000000000177.1/"),
    *("http://0o177.0.0.1/", "http://+127.0.0.1/", "http://1_2_7.0.0.1/", "http://127.0.0.1_/"),
    *("http://0251.254.0xa9.254/", "http://025177524776/", "http://169.16689662/"),
    *("http://many.test/", "http://MANY.test./", "http://empty.test/", "http://garbage.test/"),
    *("http://isatap.test/", "http://teredo.test/", "http://six.test/", "http://mány.test/"),
    *("http://public.test:80.0/", "http://public.test:８０/", "http://public.test:+80/"),
    *("http://public.test:00000000022/", "http+unix://%2Frun%2Fdocker.sock/info"),
    *("http://unix:/run/docker.sock:/info", "view-source:http://127.0.0.1/", "http://127.0.0.1*/"),
    *("http://\ufeff127.0.0.1/", "http://127.0.0.1\u3000/", "http://xn--/", "http://./"),
)
# As places of a redirect these name another page of the same host.
RELATIVE = {"http:127.0.0.1/", "http:////127.0.0.1/"}
REFUSALS = {"address_refused", "invalid_url", "fetch_failed", "host_refused"}


@pytest.fixture
def names() -> Names:
    return Names(
        public_test=[[PUBLIC]],
        intranet_test=[["10.0.0.7"]],
        mixed_test=[[PUBLIC, "127.0.0.1"]],
        mapped_test=[["::ffff:127.0.0.1"]],
        zone_test=[["fe80::1%eth0"]],
        nat_test=[["64:ff9b::a00:1"]],
        many_test=[[*(f"8.8.8.{number}" for number in range(200)), "10.0.0.7"]],
        empty_test=[[]],
        garbage_test=[["1.2.3"]],
        isatap_test=[["2606:4700::5efe:a00:7"]],
        teredo_test=[["2001:0:4136:e378:8000:63bf:f5ff:fff8"]],
        six_test=[["2002:a00:7::"]],
        metadata_google_internal=[["169.254.169.254"]],
        rebinding_test=[[PUBLIC], ["127.0.0.1"]],
    )


def test_the_table_is_long_enough():
    assert len(set(FORBIDDEN)) >= 150


@pytest.mark.requirement("D-28")
@pytest.mark.parametrize("url", FORBIDDEN)
async def test_a_forbidden_address_is_refused_without_a_packet(
    web: Web, internet: Internet, url: str
):
    for ask in (web.page(url), web.request("GET", url)):
        with pytest.raises(ToolFailed) as caught:
            await ask
        assert caught.value.details["code"] in REFUSALS
        assert "10.0.0.7" not in caught.value.message
    assert internet.connected == []


@pytest.mark.parametrize("url", [url for url in FORBIDDEN if "nowhere" not in url])
@pytest.mark.requirement("D-28")
async def test_a_redirect_to_a_forbidden_address_is_refused(
    web: Web, internet: Internet, site: Site, url: str
):
    site.pages["/"] = redirect(url.encode("utf-8").decode("latin-1"))
    if url in RELATIVE:
        assert (await web.page("http://public.test/")).url.startswith("http://public.test/")
    else:
        with pytest.raises(ToolFailed) as caught:
            await web.page("http://public.test/")
        assert caught.value.details["code"] in REFUSALS
    assert {address for address, _ in internet.connected} == {PUBLIC}


@pytest.mark.requirement("D-28")
async def test_the_connection_goes_to_the_address_that_was_checked(
    web: Web, internet: Internet, names: Names, site: Site
):
    site.pages["/"] = answer(b"first", Connection="close")
    response = await web.request("GET", "http://rebinding.test/")
    assert (response.body, internet.connected) == (b"first", [(PUBLIC, 80)])
    assert names.asked == ["rebinding.test"]
    with pytest.raises(ToolFailed) as caught:
        await web.request("GET", "http://rebinding.test/")
    assert caught.value.details["code"] == "address_refused"
    assert internet.connected == [(PUBLIC, 80)]


async def test_a_public_page_is_fetched_by_its_name(web: Web, site: Site):
    site.pages["/a?b=c"] = answer(b"<p>hello")
    response = await web.page("http://public.test/a?b=c#d")
    assert (response.status, response.body) == (200, b"<p>hello")
    [asked] = site.asked
    assert asked.headers["host"] == "public.test"
    assert asked.headers["user-agent"] == "Tollgate/1.0"
    assert not {"cookie", "authorization", "referer"} & asked.headers.keys()


async def test_an_operator_can_allow_a_network_but_not_our_own_port(site: Site, clock: ManualClock):
    site.pages["/"] = answer(b"here")
    settings = WebSettings(allow_networks=["127.0.0.0/8"], host_interval_s=0)
    own: set[int] = set()
    web = Web(settings, clock, own_ports=lambda: frozenset(own))
    try:
        assert (await web.page(f"{site.url}/")).body == b"here"
        own.add(site.port)
        site.pages["/"] = answer(b"again", Connection="close")
        await web.page(f"{site.url}/")
        with pytest.raises(ToolFailed, match="may be listening"):
            await web.page(f"{site.url}/other")
        with pytest.raises(ToolFailed, match="may be listening"):
            await web.request("GET", f"{site.url}/", trusted=site.url)
    finally:
        await web.aclose()


@pytest.mark.requirement("D-28")
async def test_a_trusted_address_opens_nothing_for_pages(site: Site, clock: ManualClock):
    site.pages["/"] = answer(b"engine")
    site.pages["/away"] = redirect("http://127.0.0.1:8080/")
    web = Web(WebSettings(allow_hosts=["example.org"], host_interval_s=0), clock)
    try:
        trusted = await web.request("GET", f"{site.url}/", trusted=f"{site.url}/search")
        assert trusted.body == b"engine"
        for ask in (
            web.page(f"{site.url}/"),
            web.request("GET", f"{site.url}/"),
            web.request("GET", f"{site.url}/", trusted="http://127.0.0.1:1"),
            web.request("GET", f"{site.url}/away", trusted=site.url, redirects=3),
        ):
            with pytest.raises(ToolFailed) as caught:
                await ask
            assert caught.value.details["code"] in {"host_refused", "address_refused"}
    finally:
        await web.aclose()
    assert site.paths == ["/", "/away"]


async def test_hosts_are_allowed_and_denied_with_their_subdomains(
    site: Site, internet: Internet, clock: ManualClock
):
    names = Names(
        a_test=[[PUBLIC]], b_a_test=[[PUBLIC]], bad_a_test=[[PUBLIC]], nota_test=[[PUBLIC]]
    )
    settings = WebSettings(allow_hosts=["A.test"], deny_hosts=["*.bad.a.test"], host_interval_s=0)
    web = Web(settings, clock, resolver=names, network=internet)
    site.pages["/"] = answer(b"yes")
    try:
        for host in ("a.test", "b.a.test"):
            assert (await web.page(f"http://{host}/")).body == b"yes"
        for host in ("bad.a.test", "x.bad.a.test", "nota.test", "8.8.8.8"):
            with pytest.raises(ToolFailed) as caught:
                await web.page(f"http://{host}/")
            assert caught.value.details["code"] == "host_refused"
    finally:
        await web.aclose()


async def test_a_host_that_is_denied_later_is_not_served_from_the_cache(
    site: Site, internet: Internet, names: Names, clock: ManualClock
):
    site.pages["/"] = redirect("http://denied.test/")
    settings = WebSettings(deny_hosts=["denied.test"], host_interval_s=0)
    web = Web(settings, clock, resolver=names, network=internet)
    try:
        with pytest.raises(ToolFailed) as caught:
            await web.page("http://public.test/")
    finally:
        await web.aclose()
    assert caught.value.details["code"] == "host_refused"
    assert names.asked == ["public.test"]


async def test_another_address_is_tried_when_one_does_not_answer(site: Site, clock: ManualClock):
    settings = WebSettings(allow_networks=["127.0.0.0/8"], host_interval_s=0)
    site.pages["/"] = answer(b"second")
    web = Web(settings, clock, resolver=Names(two_test=[["127.0.0.9", "127.0.0.1"]]))
    try:
        response = await web.page(f"http://two.test:{site.port}/")
    finally:
        await web.aclose()
    assert response.body == b"second"
