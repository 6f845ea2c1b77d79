"""A language server for tests: does what `textDocument/hover` on a file's first line says."""

import json
import os
import sys
from typing import Any


def read() -> dict[str, Any]:
    length = 0
    while (line := sys.stdin.buffer.readline()) != b"\r\n":
        if not line:
            sys.exit(0)
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def publish(document: dict[str, Any]) -> None:
    start = {"line": 0, "character": 0}
    complaint = {"range": {"start": start, "end": start}, "message": f"v{document['version']}"}
    params = {"uri": document["uri"], "version": document["version"], "diagnostics": [complaint]}
    send({"method": "textDocument/publishDiagnostics", "params": params})


def hover(number: Any, text: str) -> None:
    order = text.split("\n", 1)[0]
    if order == "die":
        sys.stderr.write("I am dying\n")
        sys.stderr.flush()
        os._exit(3)
    elif order == "garbage":
        sys.stdout.buffer.write(b"no header\r\n\r\n")
        sys.stdout.buffer.flush()
    elif order == "ask":
        asked = {"items": [{"section": "small.depth"}, {"section": "other"}]}
        send({"id": "q1", "method": "workspace/configuration", "params": asked})
        given = read()["result"]
        send({"id": "q2", "method": "workspace/applyEdit", "params": {"edit": {}}})
        applied = read()["result"]["applied"]
        send({"id": "q3", "method": "window/unheard", "params": {}})
        refused = read()["error"]["code"]
        send({"id": number, "result": {"contents": json.dumps([given, applied, refused])}})
    elif order == "refuse":
        send({"id": number, "error": {"code": -1, "message": "not today"}})
    else:
        send({"id": number, "result": {"contents": f"{os.getpid()} {order}"}})


def main() -> None:
    texts: dict[str, str] = {}
    while True:
        message = read()
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            able = {"hoverProvider": True, "positionEncoding": "utf-8"}
            send({"id": message["id"], "result": {"capabilities": able}})
        elif method == "textDocument/didOpen":
            texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
            publish(params["textDocument"])
        elif method == "textDocument/didChange":
            texts[params["textDocument"]["uri"]] = params["contentChanges"][0]["text"]
            publish(params["textDocument"])
        elif method == "textDocument/didClose":
            texts.pop(params["textDocument"]["uri"])
        elif method == "textDocument/hover":
            hover(message["id"], texts[params["textDocument"]["uri"]])


if __name__ == "__main__":
    main()
