"""`python -m tests.support.scripted_anthropic --port 8765`: a model for demonstrations."""

from __future__ import annotations

import argparse
import asyncio
import signal

from tests.support.scripted_anthropic.demo import demo_turn
from tests.support.scripted_anthropic.server import ScriptedAnthropic


async def _serve(port: int) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with ScriptedAnthropic(fallback=demo_turn, port=port) as provider:
        print(f"ANTHROPIC_BASE_URL={provider.base_url}", flush=True)
        await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    asyncio.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
