"""SKILL.md: lenient in what is read, strict in what is written, and never undone by it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import InvalidArguments
from app.knowledge.skills.document import (
    MAX_DOCUMENT_BYTES,
    SkillDocument,
    check_value,
    is_name,
    read_document,
)
from app.knowledge.skills.front_matter import (
    MAX_FRONT_CHARS,
    UnreadableFrontMatter,
    read_front_matter,
)

PLAIN = "---\nname: a-b\ndescription: Does it.\n---\n\n# Title\n"


def read(front: str, folder: str = "a-b") -> SkillDocument:
    return read_document(f"---\n{front}\n---\nbody\n".encode(), folder)


def reported(document: SkillDocument) -> list[str]:
    return [str(problem) for problem in (*document.errors, *document.warnings)]


def test_a_plain_document_is_read_without_a_complaint():
    document = read_document(PLAIN.encode(), "a-b")
    assert document == SkillDocument(description="Does it.", body="# Title\n")


def test_everything_that_the_standard_knows_is_read():
    document = read(
        "name: a-b\ndescription: D\nlicense: MIT\ncompatibility: Needs git\n"
        "allowed-tools: Bash(git:*) Read\n"
        "metadata:\n  author: me\n  always: true\n  requires:\n    bins: [git]\n    env: [KEY]\n"
        "entry:\n  type: compute\n  command: python 'scripts/my main.py' -v\n  timeout: 7\n"
    )
    assert reported(document) == []
    assert (document.license, document.compatibility) == ("MIT", "Needs git")
    assert document.allowed_tools == ("Bash(git:*)", "Read")
    assert (document.always, document.programs, document.variables) == (True, ("git",), ("KEY",))
    assert document.entry is not None
    assert document.entry.command == ("python", "scripts/my main.py", "-v")
    assert document.entry.timeout_s == 7


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a", True),
        ("a1-b2", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("a--b", False),
        ("A", False),
        ("a_b", False),
        ("a.b", False),
        ("..", False),
        ("a/b", False),
        ("a\n", False),
        ("ä", False),
        ("٣", False),
    ],
)
def test_names_are_those_of_the_standard(name: str, *, fits: bool):
    assert is_name(name) is fits


@pytest.mark.parametrize(
    ("front", "said"),
    [
        ("name: a-b", "description is missing"),
        ("name: a-b\ndescription: ''", "description is missing"),
        ("name: a-b\ndescription: [1]", "line 3: description is missing"),
        ("name: other\ndescription: D", "line 2: name 'other' must equal the folder 'a-b'"),
        ("description: D", "name is missing"),
        ("name: a-b\ndescription: " + "x" * 1025, "line 3: description exceeds 1024"),
        ("name: a-b\ndescription: D\ncompatibility: " + "x" * 501, "line 4: compatibility must"),
        ("name: a-b\ndescription: D\nextra: 1", "line 4: unknown key 'extra'"),
        ("name: a-b\ndescription: D\nmetadata: 1", "line 4: metadata must be a mapping"),
        ("name: a-b\ndescription: D\nallowed-tools: [Read]", "line 4: allowed-tools must be one"),
        ("name: a-b\ndescription: Use when: asked", "a value with a colon must be quoted"),
        ("name: a-b\ndescription: D\nmetadata:\n  requires: {bins: ['a/b']}", "requires.bins"),
        ("name: a-b\ndescription: D\nentry: x", "line 4: entry must be a mapping"),
        ("name: a-b\ndescription: D\nentry: {type: compute}", "entry.command must be"),
        ('name: a-b\ndescription: D\nentry: {type: compute, command: "\'"}', "entry.command"),
        ("name: a-b\ndescription: D\nentry: {type: compute, command: a, timeout: 0}", "timeout"),
        ("name: a-b\ndescription: D\nentry: {type: compute, command: a, timeout: true}", "timeout"),
        (
            "name: a-b\ndescription: D\nentry: {type: compute, command: a,"
            " input_schema: {type: object, properties: {x: {$ref: 'http://h/x'}}}}",
            "points outside the schema",
        ),
        (
            "name: a-b\ndescription: D\nentry: {type: compute, command: a,"
            " output_schema: {type: object, properties: {x: {pattern: '(?=a)'}}}}",
            "RE2",
        ),
    ],
)
def test_what_the_standard_does_not_allow_is_reported_with_its_line(front: str, said: str):
    assert any(said in line for line in reported(read(front))), reported(read(front))


def test_each_problem_has_a_code_beside_its_sentence():
    document = read("name: other\ndescription: Use when: asked\nextra: 1\nentry: x")
    assert [problem.code for problem in document.errors] == ["skill_entry"]
    warnings = ["skill_name", "skill_quotes", "skill_unknown_key"]
    assert [problem.code for problem in document.warnings] == warnings
    (unread,) = read_document(b"Does it.", "a-b").errors
    assert unread.code == "skill_no_front_matter"


def test_what_a_reader_can_live_with_does_not_keep_a_skill_away():
    document = read("name: Other Name\ndescription: Use when: it rains\nextra: 1")
    assert (document.errors, document.description) == ((), "Use when: it rains")
    assert len(document.warnings) == 3


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)
)


@pytest.mark.parametrize(
    ("front", "said"),
    [
        (BOMB, "line 3: YAML aliases"),
        ("a: &a\n  b: *a", "YAML aliases"),
        ("<<: &x {a: 1}\nb: {<<: *x}", "YAML aliases"),
        ("a: " + "[" * 500 + "]" * 500, "more than 16 levels"),
        ("a: [" + "x," * 5000 + "]", "too many values"),
        ("a: " + "9" * 6000, "invalid value"),
        ("a: 99999999999999999999", "not allowed"),
        ("a: .inf", "not allowed"),
        ("a: 2024-99-99", "invalid value"),
        ("a: !!python/object/apply:os.system [id]", "line 2: YAML tags"),
        ("a: !!binary aGk=", "YAML tags"),
        ("a: !!bool maybe", "YAML tags"),
        ("a: !!int ''", "YAML tags"),
        ("a: !!float ''", "YAML tags"),
        ("a: !!timestamp soon", "YAML tags"),
        ("a: !!map {b: 1}", "YAML tags"),
        ('a: "\\uD800"', "half of a character"),
        ('a: {"\\uDfff": 1}', "half of a character"),
        ('"\\uDfff": 1', "half of a character"),
        ("a: 1\na: 2", "duplicate key"),
        ("name: [", "not valid YAML"),
        ("- a\n- b", "must be a mapping"),
        ("a: " + "x" * MAX_FRONT_CHARS, "is longer than 32768 characters"),
        ("a: \x07", "not valid YAML"),
    ],
)
def test_hostile_front_matter_is_refused_in_a_sentence(front: str, said: str):
    document = read(front)
    assert len(document.errors) == 1
    assert said in str(document.errors[0])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "must start with"),
        (b"# no front matter\n", "must start with"),
        (b"---\nname: a\n", "no closing line"),
        (b"\xff\xfe---\n", "not UTF-8"),
        (b"x" * (MAX_DOCUMENT_BYTES + 1), "exceeds"),
    ],
)
def test_what_is_no_document_is_reported(data: bytes, said: str):
    assert said in str(read_document(data, "a-b").errors[0])


def test_line_ends_of_windows_and_a_byte_order_mark_are_read():
    text = ("\ufeff" + PLAIN).replace("\n", "\r\n")
    assert read_document(text.encode(), "a-b").errors == ()


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str):
    document = read_document(f"---\n{text}\n---\n".encode("utf-8", "replace"), "a-b")
    assert document.description or document.errors


@given(st.text(alphabet="-&*:[]{}!|>'\"# \nab", max_size=80))
def test_any_punctuation_is_read_or_refused(text: str):
    with suppress(UnreadableFrontMatter):
        fields = read_front_matter(f"---\n{text}\n---\n").fields
        assert all(isinstance(key, str) for key in fields)


def test_values_are_held_against_a_schema():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    check_value(schema, {"n": 1}, "args")
    with pytest.raises(InvalidArguments, match=r"^args: n"):
        check_value(schema, {"n": "x"}, "args")
    with pytest.raises(InvalidArguments, match=r"^data: "):
        check_value(schema, [1], "data")
