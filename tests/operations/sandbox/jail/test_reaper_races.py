"""A tree whose processes end as fast as they are reaped is watched and ended all the same."""

from __future__ import annotations

import os
import resource
import signal

import pytest

from app.operations.sandbox.jail.procfs import ProcFs
from app.operations.sandbox.jail.reaper import Remains, TreeReaper

USAGE = resource.getrusage(resource.RUSAGE_CHILDREN)


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done to a tree that ends once it was killed, and whose processes end until then."""
    done: list[str] = []

    def wait(_pid: int, _options: int) -> tuple[int, int, resource.struct_rusage]:
        if "kill" in done:
            raise ChildProcessError
        done.append("reap")
        return 7, 0, USAGE

    def kill(_pid: int, number: int) -> None:
        if number == signal.SIGKILL:
            done.append("kill")

    monkeypatch.setattr(os, "wait4", wait)
    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: set())
    return done


def test_reaping_comes_to_an_end_where_processes_end_without_end(reported: list[str]):
    assert Remains().reap() is True
    assert reported.count("reap") > 100


def test_a_tree_is_killed_before_it_is_reaped(reported: list[str]):
    ending = TreeReaper(ProcFs(), contained=False, scoped=True, protected=())
    assert ending.finish(Remains()) == "landlock"
    assert reported == ["kill"]
