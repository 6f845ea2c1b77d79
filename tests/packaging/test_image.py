"""The image: small, unprivileged, watched, and made only from what is locked."""

import re

import pytest

from scripts.dockerfile import healthcheck_command, parse
from scripts.prove_image import kept_out
from tests.support.source import ROOT

BUILD_TOOLS = re.compile(r"\b(gcc|build-essential|make|curl)\b")


@pytest.fixture
def stages():
    return parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_the_service_runs_as_a_user_without_rights(stages):
    assert stages[-1].last("USER").text == "10001:10001"


def test_the_health_check_asks_the_health_endpoint_with_python_alone(stages):
    python, _, program = healthcheck_command(stages[-1].last("HEALTHCHECK"))
    assert python == "python"
    assert "/api/v1/health" in program
    compile(program, "healthcheck", "exec")


def test_the_port_and_the_data_folder_are_declared(stages):
    assert stages[-1].last("EXPOSE").text == "8420"
    assert stages[-1].last("VOLUME").words() == ["/data"]


def test_every_install_from_an_index_is_hashed(stages):
    runs = [step.text for stage in stages for step in stage.steps if step.name == "RUN"]
    installs = [part for run in runs for part in run.split("&&") if " install -" in part]
    from_index = [part for part in installs if "pip" in part and "--no-index" not in part]
    assert len(from_index) == 2
    assert [part for part in from_index if "--no-deps --require-hashes" not in part] == []


def test_the_final_layer_takes_only_the_finished_environment(stages):
    copies = [step for step in stages[-1].steps if step.name == "COPY"]
    runs = [step.text for step in stages[-1].steps if step.name == "RUN"]
    assert [(step.source, step.text) for step in copies] == [
        ("build", "/opt/tollgate /opt/tollgate")
    ]
    assert [run for run in runs if BUILD_TOOLS.search(run)] == []


def test_the_pages_are_built_apart_and_only_they_leave_that_stage(stages):
    pages = next(stage for stage in stages if stage.name == "web")
    taken = [
        (stage.name, step.text)
        for stage in stages
        for step in stage.steps
        if step.name == "COPY" and step.source == "web"
    ]
    assert pages.base != stages[-1].base
    assert pages.last("RUN").text == "python3 web/webbuild.py"
    assert taken == [("build", "/src/app/web/dist app/web/dist")]


@pytest.mark.parametrize(
    ("folder", "names", "refused"),
    [
        ("web", ["node_modules", "src", ".generated"], {"node_modules", ".generated"}),
        ("app", ["web", "api", "__pycache__"], {"web", "__pycache__"}),
        ("app/api", ["web"], set()),
    ],
)
def test_what_is_made_does_not_enter_the_build(folder, names, refused):
    assert kept_out(str(ROOT / folder), names) == refused


def test_the_systems_packages_bring_what_agents_use_and_leave_no_lists(stages):
    installs = [
        step.text for step in stages[-1].steps if step.name == "RUN" and "apt-get" in step.text
    ]
    assert [re.findall(r"--no-install-recommends ([^&]+?) +&&", run) for run in installs] == [
        ["git chromium-headless-shell fonts-droid-fallback"]
    ]
    assert installs[0].endswith("rm -rf /var/lib/apt/lists/*")


def test_what_the_image_copies_exists_and_may_enter_the_build(stages):
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = {
        word.split("/")[0]
        for stage in stages
        for step in stage.steps
        if step.name == "COPY" and step.source is None
        for word in step.words()[:-1]
    }
    assert {f"!{name}" for name in copied} == {line for line in allowed if line.startswith("!")}
    assert [name for name in sorted(copied) if not (ROOT / name).exists()] == []
