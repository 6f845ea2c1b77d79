"""`tollgate rules proposals|accept|dismiss` beside a running service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.program import tollgate
from tests.support.answered_calls import Answered, record
from tests.support.service import Running, serving, settings_for

ADMIN = "operator-secret-0123456789"
LOGS = [Answered(f"rm tmp/run-{at}.log", day=1 + at % 2) for at in (11, 24, 36, 47, 58, 63)]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path, token=ADMIN)) as service:
        session = service.session()
        await service.service.db.flush()
        await record(service, session.id, LOGS)
        yield service


async def rules(running: Running, *words: str) -> CompletedProcess[str]:
    """Run the command beside the service, which runs in this process."""
    folder = running.service.settings.data_dir
    place = {"TOLLGATE_URL": running.url, "TOLLGATE_TOKEN": ADMIN}
    return await asyncio.to_thread(tollgate, folder, "rules", *words, **place)


async def test_a_proposal_is_computed_shown_and_accepted(running: Running):
    nothing = await rules(running, "proposals")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "rules proposals --compute" in nothing.stderr

    listed = await rules(running, "proposals", "--compute")
    assert "1 added, 0 withdrawn." in listed.stderr
    line, why = listed.stdout.splitlines()
    proposal_id = line.split()[0]
    assert "open       Allow `rm tmp/run-<number>.log` below " in line
    assert "6 questions would not have been asked" in why

    shown = (await rules(running, "proposals", proposal_id)).stdout
    assert shown.count("would run without a question: ") == 6
    assert '"type": "number"' in shown
    document = json.loads((await rules(running, "proposals", proposal_id, "--json")).stdout)
    assert document["proof"]["holds"] is True

    accepted = await rules(running, "accept", proposal_id)
    assert accepted.returncode == 0, accepted.stderr
    assert accepted.stderr.startswith("accepted: Allow `rm tmp/run-<number>.log`")
    stored = json.loads((await rules(running, "list", "--json")).stdout)["rules"]
    assert [rule["id"] for rule in stored] == [accepted.stdout.strip()]
    again = await rules(running, "accept", proposal_id)
    assert (again.returncode, again.stdout) == (1, "")
    assert "already accepted" in again.stderr


async def test_a_proposal_is_dismissed(running: Running):
    listed = await rules(running, "proposals", "--compute", "--json")
    (proposal,) = json.loads(listed.stdout)["proposals"]

    done = await rules(running, "dismiss", proposal["id"])

    assert done.stderr.startswith("dismissed: ")
    assert (await rules(running, "proposals")).stdout == ""
    (line, _) = (await rules(running, "proposals", "--all")).stdout.splitlines()
    assert line.startswith(f"{proposal['id']}  dismissed")
