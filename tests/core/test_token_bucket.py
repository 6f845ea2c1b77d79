from __future__ import annotations

import pytest

from app.core.errors import RateLimited
from app.core.token_bucket import TokenBucket


def test_a_full_bucket_gives_its_size_at_once_and_then_says_when_to_come_back():
    bucket = TokenBucket(3, 0.5, 10.0)
    for _ in range(3):
        bucket.spend(10.0, "Wait")
    with pytest.raises(RateLimited, match="Wait") as raised:
        bucket.spend(11.0, "Wait")
    assert raised.value.details == {"retry_after_ms": 1000}
    bucket.spend(12.0, "Wait")
    assert not bucket.has_token()


def test_a_refused_request_costs_nothing():
    bucket = TokenBucket.per_minute(1, 0.0)
    bucket.spend(0.0, "Wait")
    for second in range(1, 60):
        with pytest.raises(RateLimited):
            bucket.spend(float(second), "Wait")
    bucket.spend(60.0, "Wait")


def test_no_pause_fills_it_beyond_its_size():
    bucket = TokenBucket.per_minute(2, 0.0)
    bucket.refill(1e9)
    assert bucket.level == 2


def test_a_smaller_size_takes_what_is_too_much():
    bucket = TokenBucket.per_minute(100, 0.0)
    bucket.limit_to(1)
    bucket.spend(0.0, "Wait")
    with pytest.raises(RateLimited) as raised:
        bucket.spend(0.0, "Wait")
    assert raised.value.details == {"retry_after_ms": 60_000}


def test_a_bucket_without_tokens_never_says_when():
    bucket = TokenBucket.per_minute(0, 0.0)
    bucket.refill(1e9)
    assert (bucket.has_token(), bucket.wait_ms()) == (False, None)
