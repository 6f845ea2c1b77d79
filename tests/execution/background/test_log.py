"""What a process printed, in memory and on disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from app.execution.background.log import IN_MEMORY, OutputLog


@given(
    sizes=st.lists(st.integers(1, IN_MEMORY), min_size=1, max_size=6),
    at=st.floats(0, 1),
    length=st.integers(1, 3 * IN_MEMORY),
)
@settings(max_examples=25, deadline=None)
def test_any_part_can_be_read_wherever_it_lies(tmp_path_factory, sizes, at, length):
    folder = tmp_path_factory.mktemp("log")
    whole = b"".join(bytes([number + 65]) * size for number, size in enumerate(sizes))

    async def written() -> bytes:
        log = OutputLog(folder)
        offset = 0
        for size in sizes:
            await log.append(whole[offset : offset + size])
            offset += size
        try:
            assert log.size == len(whole)
            return await log.read(int(at * len(whole)), length)
        finally:
            log.close()

    start = int(at * len(whole))
    assert asyncio.run(written()) == whole[start : start + length]


async def test_reading_while_it_grows_sees_no_hole(tmp_path):
    log = OutputLog(tmp_path)
    read = b""

    async def grow() -> None:
        for number in range(64):
            await log.append(bytes([number]) * 8192)

    growing = asyncio.create_task(grow())
    while not growing.done() or len(read) < log.size:
        read += await log.read(len(read), 50_000)
        await asyncio.sleep(0)
    log.close()
    assert read == b"".join(bytes([number]) * 8192 for number in range(64))


async def test_little_output_touches_no_disk_and_much_leaves_no_name(tmp_path):
    folder = tmp_path / "logs"
    log = OutputLog(folder)
    await log.append(b"x" * 100)
    assert not folder.exists()
    await log.append(b"x" * IN_MEMORY)
    assert list(folder.iterdir()) == []
    log.close()


async def test_when_the_disk_takes_no_more_the_beginning_stays(tmp_path):
    folder = tmp_path / "file"
    folder.write_text("no folder", encoding="utf-8")
    log = OutputLog(folder)
    await log.append(b"a" * IN_MEMORY)
    await log.append(b"b" * IN_MEMORY)
    assert await log.read(0, 2 * IN_MEMORY) == b"a" * IN_MEMORY


async def test_a_closed_log_holds_nothing_open(tmp_path):
    before = _open_descriptors()
    log = OutputLog(tmp_path)
    await log.append(b"x" * IN_MEMORY)
    log.close()
    log.close()
    assert (_open_descriptors(), log.size) == (before, 0)


def _open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))
