"""Turns, medians and the line that is printed."""

from benchmarks.harness import (
    FULL,
    SMOKE,
    Compared,
    Figures,
    Measure,
    Result,
    interleave,
    percentile,
)


def counting(name: str, turns: list[str]) -> Measure:
    async def turn() -> Figures:
        turns.append(name)
        return {"cpu": float(len(turns))}

    return turn


async def test_subject_and_floor_take_turns_after_one_warm_up_each():
    turns: list[str] = []
    compared = await interleave(2, counting("a", turns), counting("b", turns))
    assert turns == ["a", "b", "a", "b", "a", "b"]
    assert compared == Compared([{"cpu": 3.0}, {"cpu": 5.0}], [{"cpu": 4.0}, {"cpu": 6.0}])


def test_a_result_is_the_median_of_its_turns():
    compared = Compared([{"cpu": cost} for cost in (9.0, 2.0, 3.0)], [{"cpu": 1.0}] * 3)
    assert compared.result("x", "CPU us/call") == Result("x", 3.0, 1.0, "CPU us/call", 3, 7 / 3)


def test_a_result_prints_both_figures_and_how_often_the_floor_fits():
    assert Result("x", 3.0, 1.5, "CPU us/call", 5).to_dict() == {
        "name": "x",
        "subject_us": 3.0,
        "floor_us": 1.5,
        "ratio": 2.0,
        "unit": "CPU us/call",
        "runs": 5,
        "spread": None,
    }


def test_a_floor_that_cannot_be_seen_has_no_ratio():
    assert Result("x", 3.0, 0.0, "KiB", 5).to_dict()["ratio"] is None


def test_a_percentile_is_one_of_the_values():
    values = [float(value) for value in range(100, 0, -1)]
    assert (percentile(values, 0.99), percentile(values, 0.5), percentile([7.0], 0.99)) == (
        100.0,
        51.0,
        7.0,
    )


def test_a_scale_never_measures_fewer_than_the_least():
    assert (FULL.count(4000), SMOKE.count(4000), SMOKE.count(10, least=3)) == (4000, 16, 3)
