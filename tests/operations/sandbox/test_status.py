"""What a machine's layers mean for each level: nothing runs weaker without being asked."""

from __future__ import annotations

import pytest

from app.operations.protocols.sandbox import LEVELS, Level, SandboxStatus
from app.operations.sandbox.kernel_probe import Probe
from app.operations.sandbox.status import judge

EVERYTHING = frozenset(
    (
        *("rlimits", "no_new_privs", "landlock-fs", "landlock-net", "landlock-scope"),
        *("seccomp", "metadata-guard", "namespaces", "caps-dropped", "uid-drop"),
    )
)
LANDLOCK = ("landlock-fs", "landlock-net", "landlock-scope")


def without(*layers: str) -> Probe:
    return Probe(EVERYTHING.difference(layers), dict.fromkeys(layers, "not here"))


def verdicts(status: SandboxStatus) -> dict[Level, str]:
    def word(level: Level) -> str:
        found = status.levels[level]
        return "asks" if found.asks else "runs" if found.available else "off"

    return {level: word(level) for level in LEVELS}


def everywhere(pure: str, forking: str) -> dict[Level, str]:
    return {"strict": pure, "standard": pure, "lenient": forking, "bash": forking}


@pytest.mark.parametrize(
    ("missing", "refusing", "asking"),
    [
        ((), everywhere("runs", "runs"), everywhere("runs", "runs")),
        (("namespaces",), everywhere("runs", "runs"), everywhere("runs", "runs")),
        (("metadata-guard",), everywhere("runs", "runs"), everywhere("runs", "runs")),
        (
            ("namespaces", "metadata-guard"),
            everywhere("runs", "off"),
            everywhere("runs", "asks"),
        ),
        (("landlock-scope",), everywhere("runs", "runs"), everywhere("runs", "runs")),
        (
            ("landlock-scope", "namespaces"),
            everywhere("runs", "off"),
            everywhere("runs", "asks"),
        ),
        (LANDLOCK, everywhere("runs", "off"), everywhere("runs", "asks")),
        (("seccomp",), everywhere("off", "off"), everywhere("off", "off")),
        (("no_new_privs",), everywhere("off", "off"), everywhere("off", "off")),
    ],
)
def test_a_level_without_its_minimum_is_off_or_asks(
    missing: tuple[str, ...], refusing: dict[Level, str], asking: dict[Level, str]
):
    assert verdicts(judge(without(*missing))) == refusing
    assert verdicts(judge(without(*missing), weaker="ask")) == asking


@pytest.mark.parametrize("weaker", ["refuse", "ask"])
def test_a_machine_that_could_not_be_probed_runs_nothing(weaker):
    status = judge(Probe(frozenset(), failed="darwin has none of the kernel layers"), weaker=weaker)

    assert verdicts(status) == everywhere("off", "off")
    assert status.sentence == "Nothing runs: darwin has none of the kernel layers"


def test_namespaces_make_the_guard_needless_and_the_guard_stands_in_for_them():
    full, docker = judge(without()), judge(without("namespaces"))

    assert "namespaces" in full.levels["bash"].layers
    assert "metadata-guard" not in full.levels["bash"].layers
    assert full.levels["bash"].missing == ()
    assert "metadata-guard" in docker.levels["bash"].layers
    assert docker.levels["bash"].missing == ()
    assert docker.to_dict()["missing"] == {"namespaces": "not here"}


def test_pure_levels_use_neither_namespaces_nor_guard():
    strict = judge(without()).levels["strict"]

    assert set(strict.layers).isdisjoint(("namespaces", "metadata-guard"))
    assert strict.missing == ()


def test_a_user_that_cannot_be_become_turns_everything_off():
    status = judge(without("uid-drop"), uid=1000)

    assert verdicts(status) == everywhere("off", "off")
    assert "uid-drop" in judge(without(), uid=1000).levels["strict"].layers


def test_commands_of_a_root_service_need_namespaces_or_a_user_of_their_own():
    bare = without("namespaces")

    assert verdicts(judge(bare, root=True)) == everywhere("runs", "off")
    assert verdicts(judge(bare, root=True, weaker="ask")) == everywhere("runs", "asks")
    assert "or set a separate user" in judge(bare, root=True).levels["bash"].sentence
    assert verdicts(judge(bare, root=True, uid=65534)) == everywhere("runs", "runs")
    assert verdicts(judge(without(), root=True)) == everywhere("runs", "runs")


def test_only_lenient_needs_a_python_that_the_separate_user_can_read():
    unreadable = Probe(EVERYTHING, {"python": "user 65534 cannot read this Python in /root/lib"})
    status = judge(unreadable, uid=65534, root=True)

    assert verdicts(status) == {**everywhere("runs", "runs"), "lenient": "off"}
    assert status.levels["lenient"].sentence == (
        "Off: user 65534 cannot read this Python in /root/lib: install it where they can."
    )


def test_each_sentence_says_what_is_lost_and_what_helps():
    lost_scope = judge(without("landlock-scope", "namespaces")).levels["bash"].sentence
    lost_files = judge(without(*LANDLOCK), weaker="ask").levels["bash"].sentence

    assert lost_scope.startswith("Off: commands share the service's user")
    assert "Linux 6.12" in lost_scope
    assert lost_files.startswith("Each call asks: this kernel cannot confine files")


def test_the_status_as_shown_names_every_level():
    shown = judge(without("namespaces")).to_dict()

    assert list(shown["levels"]) == list(LEVELS)
    assert shown["missing"] == {"namespaces": "not here"}
    assert shown["message"] == "Confined: files, network and processes."
