"""Time, ids, errors, settings, figures: small things that everything stands on."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from app.bootstrap import toolbox
from app.catalog import errors as catalog_errors
from app.config.settings import load_settings
from app.core import errors
from app.core.clock import ManualClock, SystemClock, isoformat, stamp
from app.core.errors import ConfigurationError, TollgateError
from app.core.ids import call_id, new_id
from app.core.metrics import Metrics
from app.core.text import clean, scrub, truncate


def kinds(root: type[TollgateError] = TollgateError) -> Iterator[type[TollgateError]]:
    yield root
    for child in root.__subclasses__():
        yield from kinds(child)


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_error_pickles_and_keeps_what_it_says(kind: type[TollgateError]):
    error = kind("what happened")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.details) == (kind, error.message, error.details)
    assert 400 <= kind.http_status < 600


def test_the_error_tree_is_drawn_in_its_docstring():
    drawn = str(errors.__doc__)
    missing = [kind.__name__ for kind in kinds() if kind.__module__ == errors.__name__]
    assert [name for name in missing if name not in drawn] == []
    assert {catalog_errors.__name__, toolbox.__name__} & {kind.__module__ for kind in kinds()}


def test_times_are_utc_with_milliseconds_and_a_z():
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC)
    assert isoformat(moment) == "2026-01-02T03:04:05.678Z"
    assert [stamp(second) for second in (0.0, 59.5, 0.0)] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:59.500Z",
        "1970-01-01T00:00:00.000Z",
    ]
    assert SystemClock().now().tzinfo is UTC


def test_a_manual_clock_moves_only_when_asked():
    clock = ManualClock()
    before = (clock.now(), clock.time(), clock.monotonic())
    assert (clock.now(), clock.time(), clock.monotonic()) == before
    clock.advance(1.5)
    assert (clock.time() - before[1], clock.monotonic() - before[2]) == (1.5, 1.5)


def test_ids_differ_and_are_safe_in_a_path():
    made = [new_id("x") for _ in range(100)] + [call_id("x") for _ in range(100)]
    assert len(set(made)) == 200
    assert all(name.replace("_", "").isalnum() for name in made)


@pytest.mark.requirement("CFG-01")
def test_settings_come_from_arguments_environment_file_and_default_in_this_order(
    tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TOLLGATE_DATA_DIR", str(tmp_path))
    (tmp_path / "config.yml").write_text(
        "port: 1001\nmodel: from-file\nsub_agent:\n  max_iterations: 7\n"
        "code_execution:\n  default_strictness: strict\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("TOLLGATE_PORT", "1002")
    monkeypatch.setenv("TOLLGATE_SUB_AGENT__MAX_CONCURRENCY", "5")
    monkeypatch.setenv("TOLLGATE_ALLOWED_ORIGINS", "http://a, http://b")
    settings = load_settings(host="::1")
    assert (settings.host, settings.port, settings.model) == ("::1", 1002, "from-file")
    assert (settings.sub_agent.max_iterations, settings.sub_agent.max_concurrency) == (7, 5)
    assert settings.sub_agent.timeout == 60
    assert settings.code_execution.default_strictness == "strict"
    assert settings.allowed_origins == ["http://a", "http://b"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("port", 70_000), ("cache_ttl_s", -1), ("tool_max_workers", 7), ("sub_agent", {"typo": 1})],
)
def test_a_setting_that_does_not_fit_is_named(name: str, value: object):
    with pytest.raises(ConfigurationError, match=name):
        load_settings(**{name: value})


def test_figures_are_counted_into_cumulative_buckets():
    metrics = Metrics()
    for seconds in (0.0005, 0.02, 400.0):
        metrics.call("t", "success", seconds)
    metrics.count("runs", "success")
    metrics.gauge("runs_active", 1)
    metrics.gauge("runs_active", -1)
    buckets, total = metrics.buckets("t")
    assert (buckets["0.001"], buckets["0.025"], buckets["300.0"], buckets["+Inf"]) == (1, 2, 2, 3)
    assert total == pytest.approx(400.0205)
    assert (metrics.calls, metrics.gauges) == ({("t", "success"): 3}, {"runs_active": 0})


def test_text_is_made_fit_to_encode_and_cut_with_its_note_counted_in():
    assert clean("a\ud800b") == "a?b"
    assert clean("grün") == "grün"
    assert truncate("abcdef", 5, "…") == "abcd…"
    assert truncate("abc", 3) == "abc"
    assert scrub({1: {2**64, 3}, "d": datetime(2026, 1, 1, tzinfo=UTC)})["d"].startswith("2026")
