"""The operator's list against everything that only looks like it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from app.config.triggers import TriggerSettings
from app.core.errors import ConfigurationError, ToolFailed
from app.knowledge.outbound_requests.allow_list import AllowList

LISTED = [
    "ci.example.org",
    "https://api.example.org/hooks",
    "https://api.example.org/under/",
    "http://10.0.0.7:8080/go",
    "https://[2001:db8::1]/x",
]
GOOD = {
    "https://ci.example.org": "https://ci.example.org/",
    "https://CI.Example.ORG/any/path?q=1": "https://ci.example.org/any/path?q=1",
    "https://ci.example.org:443/": "https://ci.example.org/",
    "https://ci.example.org./x": "https://ci.example.org/x",
    "https://api.example.org/hooks": "https://api.example.org/hooks",
    "https://api.example.org/hooks?x=../..": "https://api.example.org/hooks?x=../..",
    "https://api.example.org/hooks/a/b#part": "https://api.example.org/hooks/a/b",
    "https://api.example.org/hooks/caf%C3%A9.v2": "https://api.example.org/hooks/caf%C3%A9.v2",
    "https://api.example.org/under/a": "https://api.example.org/under/a",
    "http://10.0.0.7:8080/go/now": "http://10.0.0.7:8080/go/now",
    "http://0xa.7:8080/go": "http://10.0.0.7:8080/go",
    "https://[2001:DB8:0::1]/x": "https://[2001:db8::1]/x",
}
BAD = [
    # Other hosts that begin or end alike.
    "https://ci.example.org.evil.com/",
    "https://ci.example.orgevil.com/",
    "https://evil.com/ci.example.org",
    "https://evil-ci.example.org/",
    "https://sub.ci.example.org/",
    "https://example.org/",
    "https://evil.com?ci.example.org/",
    "https://evil.com#https://ci.example.org/",
    # Names and passwords before the host.
    "https://ci.example.org@evil.com/",
    "https://ci.example.org:443@evil.com/",
    "https://evil.com@ci.example.org/",
    "https://user:pass@ci.example.org/",
    "https://ci.example.org%40evil.com/",
    "https://ci.example.org\\@evil.com/",
    "https://ci.example.org\\.evil.com/",
    "https://ci.example.org%2eevil.com/",
    "https://ci.example.org%00.evil.com/",
    "https://ci.example.org。evil.com/",
    "https://ci.example.org\t.evil.com/",
    "https://ci.example.org\n.evil.com/",
    # Other schemes and ports.
    "http://ci.example.org/",
    "ftp://ci.example.org/",
    "//ci.example.org/",
    "ci.example.org/",
    "https:ci.example.org/",
    "https:///ci.example.org/",
    "javascript:https://ci.example.org/",
    "https://ci.example.org:8443/",
    "https://ci.example.org:0/",
    "https://10.0.0.7:8080/go",
    "http://10.0.0.7/go",
    "http://10.0.0.77:8080/go",
    # Other paths that begin alike.
    "https://api.example.org/",
    "https://api.example.org/hooksevil",
    "https://api.example.org/HOOKS",
    "https://api.example.org/hooks;x/a",
    "https://api.example.org//hooks",
    "https://api.example.org/hook%73",
    "https://api.example.org/under",
    "https://api.example.org/underground",
    # Ways out of the path.
    "https://api.example.org/hooks/../admin",
    "https://api.example.org/hooks/..",
    "https://api.example.org/hooks/./../admin",
    "https://api.example.org/hooks/%2e%2e/admin",
    "https://api.example.org/hooks/%2E./admin",
    "https://api.example.org/hooks/.%2e/admin",
    "https://api.example.org/hooks/..%2fadmin",
    "https://api.example.org/hooks/%2e%2e%2fadmin",
    "https://api.example.org/hooks/%252e%252e/admin",
    "https://api.example.org/hooks/..%5cadmin",
    "https://api.example.org/hooks/..\\admin",
    "https://api.example.org/hooks/..;/admin",
    "https://api.example.org/hooks/..;a=b/admin",
    "https://api.example.org/hooks/.. /admin",
    "https://api.example.org/hooks/..%20/admin",
    "https://api.example.org/hooks/..%00/admin",
    "https://api.example.org/hooks/%c0%ae%c0%ae/admin",
    "https://api.example.org/hooks/%u002e%u002e/admin",
    "https://api.example.org/hooks/\uff0e\uff0e/admin",
    "https://api.example.org/hooks/\u2025/admin",
    "https://api.example.org/hooks/..\uff0fadmin",
    "https://api.example.org/hooks/..%e2%80%8b/admin",
    "https://api.example.org/hooks/.%c2%ad./admin",
    "https://api.example.org/hooks/%ef%bb%bf../admin",
    "https://api.example.org/hooks/..%c2%a0/admin",
    "https://api.example.org/hooks/%ef%bc%85%32%65/admin",
    "https://api.example.org/hooks/x%ef%bc%8fy",
    "https://api.example.org/hooks/a%0d%0aHost:evil.com",
    "https://api.example.org/hooks/%",
    # Other ways to write other addresses.
    "https://[ci.example.org]/",
    "https://\u0441i.example.org/",
    "https://ci.example.org\u200b.evil.com/",
    "https://ci.example.org\xad.evil.com/",
    "http://[::10.0.0.7]:8080/go",
    "http://[::ffff:10.0.0.7]:8080/go",
    "http://167772168:8080/go",
    "https://[2001:db8::2]/x",
    "https://[2001:db8::1%25eth0]/x",
    "",
    " ",
]


@pytest.mark.requirement("SYS-03")
@pytest.mark.parametrize(("url", "sent"), GOOD.items())
def test_what_is_listed_may_be_reached_and_is_sent_as_it_was_checked(url: str, sent: str):
    parsed, origin = AllowList(LISTED).check(url)
    assert (str(parsed), sent.startswith(origin)) == (sent, True)
    assert str(AllowList(LISTED).check(sent)[0]) == sent


@pytest.mark.requirement("SYS-03")
@pytest.mark.parametrize("url", BAD)
def test_what_only_looks_like_it_is_refused(url: str):
    with pytest.raises(ToolFailed) as caught:
        AllowList(LISTED).check(url)
    assert caught.value.details["code"] in ("url_refused", "invalid_url")


def test_a_host_alone_means_https_and_all_of_it():
    allowed = AllowList(["ci.example.org"])
    assert allowed.check("https://ci.example.org/a/b")[1] == "https://ci.example.org"
    with pytest.raises(ToolFailed, match=r"triggers\.allow"):
        allowed.check("http://ci.example.org/a/b")


def test_nothing_is_allowed_where_nothing_is_listed():
    assert not AllowList([])
    with pytest.raises(ToolFailed):
        AllowList([]).check("https://ci.example.org/")


@pytest.mark.parametrize(
    "entry",
    [
        *("*", "*.example.org", "https://", "https://a/../b", "https://a/.", "https://u@a/"),
        *("https://a/?q", "https://a/#f", "https://a/%2e", "https://a\\b", "a b", "ftp://a/"),
    ],
)
def test_an_entry_that_would_mean_something_else_is_refused_at_the_start(entry: str):
    with pytest.raises((ValidationError, ConfigurationError)):
        AllowList(TriggerSettings(allow=[entry]).allow)


def test_entries_come_from_one_variable():
    chosen = TriggerSettings.model_validate({"allow": "ci.example.org, https://a.example/x,"})
    assert chosen.allow == ["ci.example.org", "https://a.example/x"]
