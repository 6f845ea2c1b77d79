"""Call `bash` over WebSocket and print what happens: `websocket_client.py [URL]`.

Without a URL it is TOLLGATE_URL, or the address that the service has by itself.
"""
# ruff: noqa: INP001, S310, T201

import asyncio
import json
import os
import sys
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

from websockets.asyncio.client import connect


def command(kind: str, **fields: object) -> str:
    """A command under an id of its own: one that was used already is not carried out again."""
    return json.dumps({"type": kind, "id": uuid4().hex, **fields})


async def watch(url: str, token: str, session: dict[str, str]) -> None:
    call = {"name": "bash", "arguments": {"command": "echo hello; sleep 0.2; echo world"}}
    async with connect(f"ws{url[4:]}/api/v1/ws") as socket:
        await socket.send(command("hello", auth={"token": token}))
        await socket.send(command("subscribe", **session))
        await socket.send(command("tool_call", **session, **call))
        async for frame in socket:
            message = json.loads(frame)
            text = message.get("error") or message.get("text", "")
            print(message.get("seq", "-"), message["type"], repr(text))
            if message["type"] in ("run_finished", "error"):
                return


known = os.environ.get("TOLLGATE_URL", "http://127.0.0.1:8420")
url = sys.argv[1] if len(sys.argv) > 1 else known
token = os.environ.get("TOLLGATE_TOKEN") or Path("data/bootstrap.token").read_text("ascii").strip()
headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
new = Request(f"{url}/api/v1/sessions", b"{}", headers)
asyncio.run(watch(url, token, {"session_id": json.load(urlopen(new))["id"]}))
