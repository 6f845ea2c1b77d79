"""Properties that hold for every command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import tree_sitter
import tree_sitter_bash
from hypothesis import given, settings
from hypothesis import strategies as st

from app.policy.risk.assess import assess_command, forget
from app.policy.risk.model import ShellName, Verdict, worst_verdict
from app.policy.risk.report import report_json

_FILE = Path(__file__).with_name("risk_cases_public.jsonl")
_CASES = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
_COMMANDS = [case["command"] for case in _CASES if case.get("shell") != "windows"]
_UNSAFE = [
    case["command"]
    for case in _CASES
    if case["expect"] != "safe" and case.get("shell") != "windows"
]
_TOKENS = """rm ls $( ) ` ' " { } ( (( )) ${ x } | || & && ; ;; \\ # < << <<< > EOF $' [[ ]] if then
fi for do done case in esac function time ! $x ~ * {a,b} = a=1 $[ ] - -c -- sudo bash eval
xargs git sed s/a/b/e awk python3 -e"""
_PIECES = st.sampled_from([*_TOKENS.split(), "\0", "\t", "\n"])
_SOUP = st.lists(_PIECES, max_size=40).map(" ".join) | st.lists(_PIECES, max_size=40).map("".join)


@given(st.text(max_size=300) | _SOUP, st.sampled_from(["bash", "powershell", "cmd"]))
@settings(max_examples=400, deadline=None)
def test_no_text_raises(text: str, shell: ShellName) -> None:
    report = assess_command(text, shell=shell)

    assert report.verdict in set(Verdict)


_FAMILIES = Path(__file__).with_name("risk_families.jsonl").read_text(encoding="utf-8")
_ALL = [*_COMMANDS, *(json.loads(line)["command"] for line in _FAMILIES.splitlines())]


@given(
    st.sampled_from(_ALL),
    st.sampled_from(_ALL) | _PIECES,
    st.integers(0, 80),
    st.integers(0, 80),
    st.sampled_from(["swapped", "kept"]),
    st.sampled_from(["bash", "powershell", "cmd"]),
)
@settings(max_examples=400, deadline=None)
def test_no_mended_or_broken_command_raises(
    command: str, other: str, start: int, length: int, cased: str, shell: ShellName
) -> None:
    text = command[:start] + other[:length] + command[start + length // 2 :]
    text = {"swapped": text.swapcase(), "kept": text}[cased]

    report = assess_command(text, shell=shell)

    assert report.verdict in set(Verdict)


@given(st.sampled_from(_UNSAFE))
def test_a_cd_before_never_makes_a_command_safe(command: str) -> None:
    assert assess_command(f"cd x && {command}").verdict is not Verdict.ALLOW


@given(st.sampled_from(_UNSAFE), st.sampled_from(["bash -c", "sudo sh -c", "eval", "env sh -ec"]))
def test_a_shell_around_never_makes_a_command_safe(command: str, wrapper: str) -> None:
    report = assess_command(f"{wrapper} {shlex.quote(command)}")

    assert report.verdict is not Verdict.ALLOW


@given(st.sampled_from(_UNSAFE), st.sampled_from(_COMMANDS))
def test_a_command_in_front_never_hides_the_next(command: str, before: str) -> None:
    assert assess_command(f"{before}\n{command}").verdict is not Verdict.ALLOW


_WRAPPERS = [
    "sudo {}",
    "sudo -u bob -- {}",
    "env A=1 {}",
    "env -i {}",
    "nohup {}",
    "timeout 5 {}",
    "timeout -k 1 -s KILL 5 {}",
    "nice -n 5 {}",
    "setsid {}",
    "stdbuf -oL {}",
    "ionice -c2 -n7 {}",
    "command {}",
    "exec {}",
]
_SIMPLE = [
    "rm -rf build",
    "/bin/rm x",
    "r''m x",
    "git push --force",
    "git -C x reset --hard",
    "find . -delete",
    "mysql -e 'drop table t'",
    "python3 -c 'import os; os.remove(\"x\")'",
    "docker rm -f x",
    "bash -c 'rm x'",
    "xargs rm",
    "rm -rf /",
    "mkfs.ext4 /dev/sda1",
]


@given(st.sampled_from(_UNSAFE))
def test_a_command_behind_never_makes_a_command_safe(command: str) -> None:
    assert assess_command(f"{command}; true").verdict is not Verdict.ALLOW
    assert assess_command(f"{command}\ntrue").verdict is not Verdict.ALLOW


@given(st.sampled_from(_SIMPLE), st.lists(st.sampled_from(_WRAPPERS), min_size=1, max_size=5))
def test_wrappers_never_make_a_command_safer(command: str, wrappers: list[str]) -> None:
    plain = assess_command(command).verdict
    for wrapper in wrappers:
        command = wrapper.format(command)

    assert worst_verdict((assess_command(command).verdict, plain)) == (
        assess_command(command).verdict
    )


@given(
    st.sampled_from(_SIMPLE),
    st.sampled_from(
        [
            "if true; then {}; fi",
            "for x in a b; do {}; done",
            "while false; do {}; done",
            "case $x in *) {};; esac",
            "f() {{ {}; }}; f",
            "( {} )",
            "{{ {}; }}",
            "! {}",
            "true && {}",
            "false || {}",
            "ls | {}",
            "ls & {}",
            "coproc {}",
            "echo $({})",
            'echo "$({})"',
            "cat <({})",
            "trap {!r} EXIT",
        ]
    ),
)
def test_a_body_never_makes_a_command_safer(command: str, body: str) -> None:
    wanted = assess_command(command).verdict
    quoted = shlex.quote(command) if "{!r}" in body else command
    report = assess_command(body.replace("{!r}", "{}").format(quoted))

    assert worst_verdict((report.verdict, wanted)) == report.verdict


_SETTERS = [
    "cd x && v={};",
    "v=safe; cd x && v={};",
    "if true; then v={}; fi;",
    "while true; do v={}; break; done;",
    "case x in x) v={};; esac;",
    "setter() {{ v={}; }}; setter;",
    "cd x && w={}; v=$w;",
    "read -r v <<< {};",
    "printf -v v %s {};",
    "v=({});",
    "set -- {}; v=$1;",
    "v={}; cd x && v=;",
]
_USES = [
    ("--force", "git push $v origin main"),
    ("--hard", 'git reset "$v"'),
    ("/etc/passwd", "echo x > $v"),
    ("destroy", "terraform $v"),
    ("/", 'rm -rf "$v"'),
    ("--force", "bash -c 'git push \"$1\"' _ $v"),
    ("--force", "used() {{ git push $1; }}; used $v"),
]


@given(st.sampled_from(_SETTERS), st.sampled_from(_USES))
def test_a_value_that_a_variable_may_have_counts(setter: str, use: tuple[str, str]) -> None:
    value, command = use
    text = f"{setter.format(value)} {command.replace('{{', '{').replace('}}', '}')}"

    assert assess_command(text).verdict is not Verdict.ALLOW


@given(st.sampled_from(_SETTERS))
def test_a_harmless_value_does_not_ask(setter: str) -> None:
    assert assess_command(f"{setter.format('main')} git push origin $v").verdict is Verdict.ALLOW


@given(st.sampled_from(_COMMANDS))
def test_a_report_depends_on_the_command_alone(command: str) -> None:
    first = assess_command(command)
    forget()

    assert assess_command(command) == first
    assert hash(assess_command(command)) == hash(first)


@given(st.binary(max_size=300), st.sampled_from(["bash", "powershell", "cmd"]))
def test_no_bytes_raise(raw: bytes, shell: ShellName) -> None:
    for text in (raw.decode("latin-1"), raw.decode("utf-8", "surrogateescape")):
        assert report_json(assess_command(text, shell=shell))["verdict"] in {"safe", "ask", "deny"}


@given(st.sampled_from(_UNSAFE), st.sampled_from(["echo {}", "grep -r {} .", "git commit -m {}"]))
def test_quoting_a_command_makes_it_text(command: str, reader: str) -> None:
    quoted = shlex.quote(command)
    if not any(code.startswith(("hidden", "control")) for code in _codes(command)):
        assert assess_command(reader.format(quoted)).verdict is Verdict.ALLOW


def _codes(command: str) -> list[str]:
    return [finding.code for finding in assess_command(command).findings]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200) | _SOUP)
def test_a_single_quoted_word_of_echo_is_safe(text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''").replace("\0", "") + "'"

    assert assess_command(f"echo {quoted}").verdict is Verdict.ALLOW


def _plain_command_names(source: bytes) -> set[str]:
    """Literal command names that another grammar sees, when it reads all of `source`."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    root = parser.parse(source).root_node
    if root.has_error:
        return set()
    names: set[str] = set()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children)
        if node.type == "command_name":
            text = source[node.start_byte : node.end_byte].decode()
            if text.isalnum():
                names.add(text)
    return names


@given(st.lists(st.sampled_from(_COMMANDS), min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_every_command_that_another_grammar_sees_is_a_segment(commands: list[str]) -> None:
    text = "\n".join(commands)
    report = assess_command(text)

    seen = {segment.argv[0] for segment in report.segments}
    if not any(finding.code == "unreadable" for finding in report.findings):
        assert _plain_command_names(text.encode()) - {"coproc", "time"} <= seen
