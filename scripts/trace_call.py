"""Trace the path of one call through the modules of the service.

    .venv/bin/python -m scripts.trace_call [--tree PATH] [--json] [--way] [--page] [--runs N]

A real `tollgate serve` runs in a process that records each function of `app/` that it enters, in
every thread; a WebSocket client makes two traces of it:

- `call`: one `bash` call, from its frame to `run_finished`;
- `answer`: the answer to a confirmation of such a call, to `run_finished`.

Each is made `--runs` times after a first one that is not recorded, as it loads modules, and the
run with the median number of changes is reported.
`--tree` traces the service of another checkout, with the packages of this environment.
`--way` prints the files in the order of their first entry, indented by package.
`--page` writes figures and pictures into `docs/architecture.md`.

The figures: files and functions that are entered, changes of file and of package between one entry
and the next in the same thread; a coroutine that continues after a wait is entered again.
Comprehensions do not count as functions. The stack is what is active when the tool starts: the
functions, and their files, from the start of the run's task to the tool.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any
from uuid import uuid4

from httpx2 import Client
from websockets.sync.client import ClientConnection as Connection
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
START = "<!-- traced -->"
END = "<!-- end of traced -->"
COLUMNS = 72
PATIENCE_S = 120  # only ends hangs
INSIDE = "--inside"
NOT_FUNCTIONS = frozenset({"<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})

AWAITING = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

Entry = tuple[int, str, str]
"""Thread, file below the tree, function."""
Step = tuple[str, str]
"""File below the tree, function."""
TOOL: Step = ("app/tools/shell/bash.py", "bash")


@dataclass(frozen=True)
class Figures:
    """Figures of a trace."""

    files: int
    functions: int
    file_changes: int
    package_changes: int
    packages: int
    stack_functions: int
    stack_files: int


@dataclass(frozen=True)
class Trace:
    """Entries of one trace, in order, and the stack when its tool starts, outermost first."""

    entries: tuple[Entry, ...]
    stack: tuple[Step, ...] = ()

    @property
    def figures(self) -> Figures:
        changes = _changes(self.entries, lambda file: file)
        return Figures(
            files=len({file for _, file, _ in self.entries}),
            functions=len({(file, name) for _, file, name in self.entries}),
            file_changes=changes,
            package_changes=_changes(self.entries, package_of),
            packages=len({package_of(file) for _, file, _ in self.entries}),
            stack_functions=len(self.stack),
            stack_files=len({file for file, _ in self.stack}),
        )

    def way(self) -> Iterator[str]:
        """Yield each package with its files, in order of first entry."""
        files: dict[str, dict[str, set[str]]] = {}
        for _, file, name in self.entries:
            files.setdefault(package_of(file), {}).setdefault(file, set()).add(name)
        for package, inside in files.items():
            functions = sum(map(len, inside.values()))
            yield f"{package}  ({len(inside)} files, {functions} functions)"
            yield from (f"    {file}  {len(names)}" for file, names in inside.items())
        yield f"the stack when the tool starts  ({len(self.stack)} functions)"
        yield from (f"    {file}  {name}" for file, name in self.stack)

    def picture(self) -> Iterator[str]:
        """Yield a line for each package: when the trace is in it, from its start on the left."""
        size = max(len(self.entries), 1)
        drawn: dict[str, set[int]] = {}
        for at, (_, file, _) in enumerate(self.entries):
            drawn.setdefault(package_of(file), set()).add(at * COLUMNS // size)
        wide = max(map(len, drawn), default=0)
        for package, columns in drawn.items():
            strip = "".join("█" if at in columns else "·" for at in range(COLUMNS))
            yield f"{package:<{wide}}  {strip}"


def package_of(file: str) -> str:
    """Return the folder below `app/` of a file; the file's own name at the top."""
    return file.split("/")[1].removesuffix(".py")


def _changes(entries: Sequence[Entry], place: Any) -> int:
    last: dict[int, str] = {}
    changes = 0
    for thread, file, _ in entries:
        now = place(file)
        changes += last.get(thread, now) != now
        last[thread] = now
    return changes


# --- Inside the service ---


class Recorder:
    """Records each entry into a function of `tree/app` while enabled."""

    def __init__(self, tree: Path) -> None:
        self._app = f"{tree}/app/"
        self._cut = len(f"{tree}/")
        self.entries: list[Entry] = []
        self.stack: list[Step] = []
        self.on = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if not self.on or event != "call":
            return
        step = self._step(frame)
        if step is None:
            return
        self.entries.append((threading.get_ident(), *step))
        if step == TOOL and not self.stack:
            self.stack = [*self._active(frame)][::-1]

    def _step(self, frame: FrameType) -> Step | None:
        """Return file and function of a frame; None if it is outside of the tree."""
        code = frame.f_code
        if not code.co_filename.startswith(self._app) or code.co_name in NOT_FUNCTIONS:
            return None
        return code.co_filename[self._cut :], code.co_qualname

    def _active(self, frame: FrameType | None) -> Iterator[Step]:
        """Yield the active functions of the tree, innermost first, up to the task's outermost."""
        while frame is not None:
            step = self._step(frame)
            if step is not None and not frame.f_code.co_flags & AWAITING:
                return  # what runs the event loop
            if step is not None:
                yield step
            frame = frame.f_back

    def obey(self, report: int) -> None:
        """Obey standard input: `start` empties the trace, `stop` writes it to `report`."""
        with os.fdopen(report, "w", encoding="utf-8") as out:
            for line in sys.stdin:
                self.on = line == "start\n"
                if self.on:
                    self.entries, self.stack = [], []
                print(json.dumps([self.entries, self.stack]), file=out, flush=True)


def inside(tree: Path, report: int) -> None:
    """Run the service of a tree, recording; never returns."""
    sys.path.insert(0, str(tree))
    recorder = Recorder(tree)
    threading.Thread(target=recorder.obey, args=(report,), daemon=True).start()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    sys.argv = ["tollgate", "serve"]
    from app.cli.main import main as tollgate

    tollgate()


# --- The client ---


class Service:
    """Running service of a tree, with a WebSocket."""

    def __init__(
        self, orders: IO[str], reports: IO[str], client: Client, frames: Connection
    ) -> None:
        self._orders = orders
        self._reports = reports
        self._client = client
        self._frames = frames

    def change(self, method: str, path: str, body: object) -> dict[str, Any]:
        """Return the JSON of a response below `/api/v1`."""
        answer = self._client.request(method, path, json=body)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def send(self, command: Mapping[str, object]) -> None:
        """Send a command with a new ID."""
        self._frames.send(json.dumps({"id": uuid4().hex, **command}))

    def wait_for(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind.

        Raises:
            SystemExit: an error arrived instead.
        """
        while True:
            message: dict[str, Any] = json.loads(self._frames.recv(timeout=PATIENCE_S))
            if message["type"] == kind:
                return message
            if message["type"] == "error":
                raise SystemExit(f"error: the service refused a command: {message}")

    @contextmanager
    def recording(self, traces: list[Trace]) -> Iterator[None]:
        """Append the service's trace during the block to `traces`."""
        self._order("start")
        yield
        entries, stack = json.loads(self._order("stop"))
        traces.append(Trace(tuple(map(tuple, entries)), tuple(map(tuple, stack))))

    def _order(self, word: str) -> str:
        self._orders.write(f"{word}\n")
        self._orders.flush()
        return self._reports.readline()


@contextmanager
def serving(tree: Path) -> Iterator[Service]:
    """Run a service of a tree in a fresh data folder for the duration of the block.

    Raises:
        SystemExit: it does not start.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        data, port = Path(folder) / "data", _free_port()
        log = held.enter_context((Path(folder) / "service.log").open("w+", encoding="utf-8"))
        reading, writing = os.pipe()
        reports = held.enter_context(os.fdopen(reading, encoding="utf-8"))
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), INSIDE, str(tree), str(writing)],
            cwd=folder,
            env=_environment(tree, data, port),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
            pass_fds=(writing,),
        )
        os.close(writing)
        assert process.stdin is not None
        assert process.stdout is not None
        held.callback(process.communicate, timeout=PATIENCE_S)
        held.callback(process.terminate)
        if not any("url" in line for line in process.stdout):
            log.seek(0)
            raise SystemExit(f"error: the service of {tree} does not start:\n{log.read()}")
        token = (data / "bootstrap.token").read_text(encoding="ascii").strip()
        headers = {"authorization": f"Bearer {token}"}
        here = f"127.0.0.1:{port}/api/v1"
        client = held.enter_context(
            Client(base_url=f"http://{here}", headers=headers, timeout=PATIENCE_S)
        )
        frames = held.enter_context(
            connect(f"ws://{here}/ws", additional_headers=headers, open_timeout=PATIENCE_S)
        )
        service = Service(process.stdin, reports, client, frames)
        service.send({"type": "hello"})
        yield service


def _environment(tree: Path, data: Path, port: int) -> dict[str, str]:
    """Return an environment without this machine's own settings."""
    kept = {name: text for name, text in os.environ.items() if "TOLLGATE" not in name}
    return {
        **kept,
        "PYTHONPATH": str(tree),
        "HOME": str(data.parent),
        "TOLLGATE_DATA_DIR": str(data),
        "TOLLGATE_PORT": str(port),
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


def trace_calls(service: Service, runs: int) -> list[Trace]:
    """Trace `bash` calls, from frame to end of run."""
    session = _subscribe(service)
    traces: list[Trace] = []
    for number in range(runs + 1):
        with service.recording(traces):
            service.send(_bash(session, f"echo {number}"))
            service.wait_for("run_finished")
    return traces[1:]


def trace_answers(service: Service, runs: int) -> list[Trace]:
    """Trace answers to the confirmation of a `bash` call, to the end of its run."""
    service.change("PATCH", "/admin/tools/bash", {"requires_confirmation": True})
    session = _subscribe(service)
    traces: list[Trace] = []
    for number in range(runs + 1):
        service.send(_bash(session, f"echo {number}"))
        asked = service.wait_for("tool_confirmation_request")
        answer = {
            "type": "tool_confirmation_response",
            "session_id": session,
            "confirmation_id": asked["confirmation_id"],
            "option_id": "approve_once",
            "digest": asked["digest"],
        }
        with service.recording(traces):
            service.send(answer)
            service.wait_for("run_finished")
    return traces[1:]


def _subscribe(service: Service) -> str:
    session = str(service.change("POST", "/sessions", {})["id"])
    service.send({"type": "subscribe", "session_id": session})
    service.wait_for("subscribed")
    return session


def _bash(session: str, command: str) -> dict[str, object]:
    return {
        "type": "tool_call",
        "session_id": session,
        "name": "bash",
        "arguments": {"command": command},
    }


def median(traces: Sequence[Trace]) -> Trace:
    """Return the trace with the median number of file changes."""
    return sorted(traces, key=lambda trace: trace.figures.file_changes)[len(traces) // 2]


def table(traces: Mapping[str, Trace]) -> Iterator[str]:
    """Return the figures as Markdown, a column per trace."""
    titles = {
        "files": "files",
        "functions": "functions",
        "file_changes": "changes of file",
        "package_changes": "changes of package",
        "packages": "packages",
        "stack_functions": "functions on the stack",
        "stack_files": "their files",
    }
    yield "| | " + " | ".join(traces) + " |"
    yield "|---|" + "---:|" * len(traces)
    figures = [asdict(trace.figures) for trace in traces.values()]
    for key, title in titles.items():
        yield f"| {title} | " + " | ".join(str(known[key]) for known in figures) + " |"


def section(traces: Mapping[str, Trace]) -> str:
    """Return the text for `--page`: the figures, and a picture of each trace."""
    titles = {"call": "One call of `bash`:", "answer": "The answer to a confirmation:"}
    lines = [*table(traces)]
    for name, trace in traces.items():
        lines += ["", titles[name], "", "```text", *trace.picture(), "```"]
    return "\n".join(lines)


def write_page(page: Path, text: str) -> None:
    """Replace the text between the marks of a page.

    Raises:
        SystemExit: the page has no such marks.
    """
    before, start, rest = page.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"error: {page} has no lines {START!r} and {END!r}; add them")
    page.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Trace and print."""
    if arguments and arguments[0] == INSIDE:
        inside(Path(arguments[1]), int(arguments[2]))
    parser = argparse.ArgumentParser(prog="trace_call", description="Trace one call's way.")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to trace [this one]")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--way", action="store_true", help="print the files of the way as well")
    parser.add_argument("--page", action="store_true", help="write the page of the architecture")
    parser.add_argument("--runs", type=int, default=5, help="traces of each way [5]")
    chosen = parser.parse_args(arguments)
    if chosen.runs < 1:
        parser.error("--runs must be at least 1")
    tree = chosen.tree.resolve()
    if not (tree / "app" / "cli" / "main.py").is_file():
        parser.error(f"{chosen.tree} has no app/cli/main.py: name a checkout with --tree")
    with serving(tree) as service:
        traces = {
            "call": median(trace_calls(service, chosen.runs)),
            "answer": median(trace_answers(service, chosen.runs)),
        }
    if chosen.page:
        write_page(PAGE, section(traces))
    if chosen.json:
        print(json.dumps({name: asdict(trace.figures) for name, trace in traces.items()}))
    else:
        print(*table(traces), sep="\n")
    if chosen.way:
        for name, trace in traces.items():
            print(f"\n{name}:", *trace.way(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
