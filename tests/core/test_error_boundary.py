"""What foreign code raises is kept; a cancellation that somebody asked for is not."""

from __future__ import annotations

import asyncio

import pytest

from app.core.error_boundary import ErrorBoundary


class Odd(BaseException):
    pass


RAISED = [
    ValueError(),
    SystemExit(2),
    asyncio.CancelledError(),
    KeyboardInterrupt(),
    GeneratorExit(),
    Odd(),
]


@pytest.mark.parametrize("error", RAISED, ids=repr)
async def test_what_the_block_raises_is_kept(error: BaseException):
    with ErrorBoundary() as held:
        raise error
    assert held.error is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_what_is_meant_for_the_interpreter_passes(error: BaseException):
    with pytest.raises(type(error)), ErrorBoundary():
        raise error


async def test_the_end_of_the_coroutine_itself_passes():
    async def work() -> None:
        with ErrorBoundary():
            await asyncio.sleep(0)

    coroutine = work()
    coroutine.send(None)
    coroutine.close()
    with pytest.raises(RuntimeError, match="cannot reuse"):
        coroutine.send(None)


async def test_a_cancellation_of_the_task_passes():
    async def work() -> None:
        with ErrorBoundary():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_it_works_where_no_loop_runs():
    with ErrorBoundary() as held:
        raise RuntimeError
    assert isinstance(held.error, RuntimeError)
    with pytest.raises(asyncio.CancelledError), ErrorBoundary():
        raise asyncio.CancelledError
