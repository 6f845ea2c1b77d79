"""Rules about hosts: what is written, what is compared, and what is refused."""

import pytest

from app.core.host_rules import PRESETS, HostRule, HostRules, normalise_host, parse_rule


@pytest.mark.parametrize(
    ("text", "rule", "shown"),
    [
        ("example.com", HostRule("example.com"), "example.com"),
        ("Example.COM.", HostRule("example.com"), "example.com"),
        ("*.example.com:8443,443", HostRule("*.example.com", (443, 8443)), None),
        ("203.0.113.7:5432", HostRule("203.0.113.7", (5432,)), "203.0.113.7:5432"),
        ("[2001:DB8::7]:22", HostRule("2001:db8::7", (22,)), "[2001:db8::7]:22"),
        ("bücher.example", HostRule("xn--bcher-kva.example"), "xn--bcher-kva.example"),
        (" a.example ", HostRule("a.example"), "a.example"),
    ],
)
def test_a_rule_is_read_and_shown(text: str, rule: HostRule, shown: str | None) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(str(rule)) == rule
    assert shown is None or str(rule) == shown


@pytest.mark.parametrize(
    "text",
    [
        *("", "*", "*.com", "*.127.0.0.1", "https://a.example", "a.example/x", "a b.example"),
        *("a.example:", "a.example:0", "a.example:70000", "a.example:x", "a..example"),
        *("2130706433", "0x7f.0.0.1", "127.1", "0177.0.0.1", "[::1%eth0]", "::1", "[127.0.0.1]"),
        *("user@a.example", "-a.example", "a-.example", "a.example:443:443", "*.*.example.com"),
        *(f"{'a' * 64}.example", ".".join(["a" * 60] * 5), "preset:none", "\x00.example"),
    ],
)
def test_what_is_no_rule_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid host|unknown preset"):
        HostRules.of([text])


def test_an_exact_name_and_subdomains_are_apart() -> None:
    rules = HostRules.of(["example.com", "*.example.org:22"])

    assert rules.allow("example.com", 443)
    assert not rules.allow("example.com", 80)
    assert not rules.allow("www.example.com", 443)
    assert not rules.allow("notexample.com", 443)
    assert rules.allow("a.b.example.org", 22)
    assert not rules.allow("example.org", 22)
    assert not rules.allow("evilexample.org", 22)
    assert rules.know("a.example.org")
    assert not rules.know("example.org")
    assert rules.ports == (22, 443)


def test_every_preset_is_a_list_of_rules() -> None:
    for name in PRESETS:
        rules = HostRules.of([f"preset:{name}"])
        assert len(rules.rules) == len(PRESETS[name])
        assert not any(rule.host.startswith("*") for rule in rules.rules)


@pytest.mark.parametrize("host", ["A.Example.", "a.example", "a.EXAMPLE"])
def test_forms_of_one_name_are_equal(host: str) -> None:
    assert normalise_host(host) == "a.example"


def test_a_list_has_a_limited_number_of_ports():
    ports = ",".join(str(port) for port in range(1, 65))
    assert len(HostRules.of([f"a.example:{ports}", "b.example:1,2"]).ports) == 64
    with pytest.raises(ValueError, match="at most 64"):
        HostRules.of([f"a.example:{ports}", "b.example:70"])
