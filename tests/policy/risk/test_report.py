"""What a report tells beside its verdict."""

from __future__ import annotations

import pytest

from app.policy.risk.assess import MAX_BYTES, assess_command
from app.policy.risk.collected import MAX_SEGMENTS
from app.policy.risk.model import CommandFinding, RiskLevel, RiskReport, Segment, ShellName, Verdict
from app.policy.risk.report import report_json


def test_a_report_names_the_segment_and_the_paths_that_would_go() -> None:
    report = assess_command("cd src && rm -rf build ../x", cwd="/workspace")

    assert report == RiskReport(
        verdict=Verdict.ASK,
        risk=RiskLevel.HIGH,
        segments=(
            Segment(("cd", "src"), "cd src", "/workspace"),
            Segment(("rm", "-rf", "build", "../x"), "rm -rf build ../x", "/workspace/src"),
        ),
        findings=(
            CommandFinding(
                "delete", 1, "rm deletes files permanently", RiskLevel.HIGH, Verdict.ASK
            ),
        ),
        resolved_targets=("/workspace/src/build", "/workspace/x"),
    )


def test_a_word_that_is_not_known_before_is_none() -> None:
    report = assess_command('ls "$(date)" x')

    assert [segment.argv for segment in report.segments] == [("date",), ("ls", None, "x")]


def test_a_wrapped_command_is_a_segment_of_its_own() -> None:
    report = assess_command("sudo env A=1 sh -c 'rm x'")

    assert [segment.argv[0] for segment in report.segments] == ["sudo", "env", "sh", "rm"]
    assert report.findings[0].segment == 3


def test_the_worst_segment_decides() -> None:
    report = assess_command("ls; rm x; rm -rf /")

    assert report.verdict is Verdict.DENY
    assert report.risk is RiskLevel.CRITICAL


def test_the_given_home_is_floor() -> None:
    report = assess_command("rm -rf /srv/agent", home="/srv/agent")

    assert report.verdict is Verdict.DENY


def test_an_unknown_home_is_shown_as_a_tilde() -> None:
    report = assess_command("rm -rf ~/x")

    assert report.resolved_targets == ("~/x",)


def test_a_path_that_is_known_in_part_is_shown_with_a_gap() -> None:
    report = assess_command("mv a /boot/$release.old")

    assert report.findings[0].why == "writes the system path /boot/….old"


def test_a_command_over_the_size_limit_asks() -> None:
    report = assess_command("echo " + "a" * MAX_BYTES)

    assert report.verdict is Verdict.ASK
    assert [finding.code for finding in report.findings] == ["too_long"]


def test_a_command_with_too_many_segments_asks() -> None:
    assert assess_command("true; " * (MAX_SEGMENTS + 1)).verdict is Verdict.ASK


def test_the_floor_does_not_hold_inside_a_container() -> None:
    assert assess_command("docker run --rm alpine rm -rf /").verdict is Verdict.ASK


def test_hidden_characters_are_denied_but_joined_emoji_are_not() -> None:
    assert assess_command("ls \u200b").verdict is Verdict.DENY
    assert assess_command("echo \U0001f468\u200d\U0001f469").verdict is Verdict.ALLOW


@pytest.mark.parametrize("shell", ["bash", "powershell", "cmd"])
def test_joiners_are_free_where_a_script_spells_words_with_them(shell: ShellName) -> None:
    for spelled in (
        "\u0645\u06cc\u200c\u0634\u0648\u062f",
        "\u0939\u093f\u0928\u094d\u200d\u0926\u0940",
    ):
        assert assess_command(f"echo {spelled}", shell=shell).verdict is Verdict.ALLOW
    for hidden in ("a\u200cb", "rm\u200c x", "\u200c", "\u0645\u200c x", "\u0645\u200b\u0634"):
        assert assess_command(f"echo {hidden}", shell=shell).verdict is Verdict.DENY


def test_a_wrapper_and_what_it_wraps_are_both_segments() -> None:
    report = assess_command("env A=1 timeout 5 bash -c 'ls; pwd' | xargs -n1 wc")

    assert [(segment.argv[0], segment.wraps) for segment in report.segments] == [
        ("env", True),
        ("timeout", True),
        ("bash", True),
        ("ls", False),
        ("pwd", False),
        ("xargs", True),
        ("wc", False),
    ]


@pytest.mark.parametrize(
    "command",
    ["sudo ls", "ssh host ls", "chroot /x ls", "docker exec c ls", "find . -exec ls {} +"],
)
def test_what_changes_user_root_or_host_or_acts_itself_is_no_mere_wrapper(command: str) -> None:
    first, second = assess_command(command).segments

    assert (first.wraps, second.argv[0]) == (False, "ls")


@pytest.mark.parametrize(
    ("command", "opaque"),
    [
        ("ls -la", False),
        ("rm $X", False),
        ("bash -c 'rm x'", False),
        ("$X y", True),
        ('bash -c "$X"', True),
        ("curl x | sh", True),
        ('eval "$(cat f)"', True),
        ("rm 'x", True),
        ("true; " * (MAX_SEGMENTS + 1), True),
    ],
)
def test_a_report_is_opaque_when_something_runs_that_is_no_segment(
    command: str,
    opaque: bool,  # noqa: FBT001 - a value of the table above
) -> None:
    assert assess_command(command).opaque is opaque


def test_the_json_form_names_an_allowed_command_safe() -> None:
    assert report_json(assess_command('cat "$X"')) == {
        "verdict": "safe",
        "risk": "low",
        "segments": [{"argv": ["cat", None], "text": "cat …", "cwd": "/workspace"}],
        "findings": [],
        "resolved_targets": [],
    }


def test_a_loop_over_known_words_is_followed_for_each() -> None:
    report = assess_command("for d in a b; do rm -r $d; done")

    assert report.resolved_targets == ("/workspace/a", "/workspace/b")
