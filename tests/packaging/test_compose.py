"""The compose file: closed by default."""

import pytest
import yaml

from scripts.dockerfile import parse
from tests.support.source import ROOT


@pytest.fixture
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def service(compose):
    return compose["services"]["tollgate"]


def test_the_service_listens_on_loopback_only(service):
    assert service["ports"] == ["127.0.0.1:8420:8420"]


def test_the_service_does_not_start_without_a_token(service):
    assert service["environment"]["TOLLGATE_TOKEN"].startswith("${TOLLGATE_TOKEN:?")


def test_the_service_has_no_rights_that_it_does_not_need(service):
    rights = {key: service[key] for key in ("init", "read_only", "cap_drop", "security_opt")}
    assert rights == {
        "init": True,
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }
    assert [mount.split(":")[0] for mount in service["tmpfs"]] == ["/tmp"]


def test_the_data_outlives_the_container(compose, service):
    volume, target = service["volumes"][0].split(":")
    final = parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))[-1]
    assert volume in compose["volumes"]
    declared = final.last("VOLUME")
    assert declared is not None
    assert declared.words() == [target]


def test_the_health_check_asks_the_health_endpoint(service):
    kind, python, _, program = service["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    assert "http://127.0.0.1:8420/api/v1/health" in program
    compile(program, "healthcheck", "exec")
