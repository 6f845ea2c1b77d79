"""Repeated requests to servers, from a dedicated process.

    python -m benchmarks.poll URL [URL …]

The first printed line confirms that every server has answered once. Closing its input ends it; then
it prints one line, `[[seconds, …], …]`: the duration of each answer of each server.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from urllib.parse import urlsplit

PAUSE_S = 0.02
PATIENCE_S = 60


def poll(url: str, took: list[float], over: threading.Event, ready: threading.Barrier) -> None:
    """Poll over one connection until it is over; append the seconds of each answer to `took`."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=PATIENCE_S)
    _ask(connection, address.path)
    ready.wait(PATIENCE_S)
    while not over.wait(PAUSE_S):
        began = time.perf_counter()
        _ask(connection, address.path)
        took.append(time.perf_counter() - began)
    connection.close()


def _ask(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{path} answered {answer.status}")


def main(urls: list[str]) -> None:
    """Poll all of `urls` until the input is closed."""
    over, ready = threading.Event(), threading.Barrier(len(urls) + 1)
    answers: list[list[float]] = [[] for _ in urls]
    threads = [
        threading.Thread(target=poll, args=(url, took, over, ready))
        for url, took in zip(urls, answers, strict=True)
    ]
    for thread in threads:
        thread.start()
    ready.wait(PATIENCE_S)
    _say("ready")
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    _say(answers)


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
