"""Reading the Dockerfile."""

import pytest

from scripts.dockerfile import Stage, Step, healthcheck_command, parse


def test_stages_steps_and_the_source_of_a_copy_are_read():
    text = (
        "ARG BASE=python:3\n# a comment\nFROM ${BASE} AS build\nRUN one \\\n && two\n"
        'FROM ${BASE}\nCOPY --from=build /a /b\nCMD ["x", "y z"]\n'
    )
    assert parse(text) == [
        Stage("build", "python:3", [Step("RUN", "one   && two")]),
        Stage("1", "python:3", [Step("COPY", "/a /b", "build"), Step("CMD", '["x", "y z"]')]),
    ]


def test_a_run_gets_the_default_of_an_argument_and_keeps_the_variables_of_the_shell():
    [stage] = parse('FROM a\nARG WHAT="one two"\nRUN install ${WHAT} in ${HOME}\n')
    assert stage.steps == [Step("RUN", "install one two in ${HOME}")]


def test_an_instruction_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="unknown instruction 'ONBUILD'"):
        parse("FROM a\nONBUILD RUN b\n")


def test_words_are_a_json_array_or_split_as_a_shell_would():
    assert Step("CMD", '["a", "b c"]').words() == ["a", "b c"]
    assert Step("ENV", "A=1 B='two words'").words() == ["A=1", "B=two words"]


def test_the_last_instruction_of_a_name_is_in_force():
    stage = Stage("s", "base", [Step("USER", "1"), Step("USER", "2")])
    assert stage.last("USER") == Step("USER", "2")
    assert stage.last("CMD") is None


def test_the_command_of_a_health_check_is_found_behind_its_options():
    step = Step("HEALTHCHECK", '--interval=3s CMD ["python", "-c", "pass"]')
    assert healthcheck_command(step) == ["python", "-c", "pass"]
