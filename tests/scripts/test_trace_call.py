"""The way of a call: what is counted, and two ways through a running service."""

import pytest

from scripts import trace_call
from scripts.trace_call import Entry, Figures, Trace
from tests.support.binaries import require_binary

DOOR = "app/api/ws/door.py"
STEP = "app/execution/step.py"
ENTRIES: tuple[Entry, ...] = (
    (1, DOOR, "receive"),
    (2, "app/db/writer.py", "write"),
    (1, DOOR, "parse"),
    (1, STEP, "run"),
    (1, "app/execution/end.py", "end"),
    (1, STEP, "run"),
)


def test_changes_are_counted_within_a_thread_and_a_function_once():
    assert Trace(ENTRIES).figures == Figures(
        files=4,
        functions=5,
        file_changes=3,
        package_changes=1,
        packages=3,
        stack_functions=0,
        stack_files=0,
    )


def test_the_picture_has_a_line_for_each_package_from_its_first_entry():
    lines = list(Trace(ENTRIES).picture())
    assert [line.split()[0] for line in lines] == ["api", "db", "execution"]
    strips = [line.split()[1] for line in lines]
    assert {len(strip) for strip in strips} == {trace_call.COLUMNS}
    assert [strip.index("█") for strip in strips] == [0, 12, 36]


def test_the_way_lists_the_files_under_their_package():
    assert list(Trace(ENTRIES, ((DOOR, "receive"), (STEP, "run"))).way())[-6:] == [
        "execution  (2 files, 2 functions)",
        f"    {STEP}  1",
        "    app/execution/end.py  1",
        "the stack when the tool starts  (2 functions)",
        f"    {DOOR}  receive",
        f"    {STEP}  run",
    ]


def test_figures_and_pictures_are_written_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Before\n\n{trace_call.START}\nold\n{trace_call.END}\nAfter\n", "utf-8")
    for _ in range(2):
        trace_call.write_page(page, trace_call.section({"call": Trace(ENTRIES)}))
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"Before\n\n{trace_call.START}\n\n| | call |\n")
    assert text.endswith(f"```\n\n{trace_call.END}\nAfter\n")
    assert "old" not in text
    assert text.count("changes of file") == 1


def test_a_page_without_marks_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Nothing\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="has no lines"):
        trace_call.write_page(page, "text")


def test_a_folder_without_the_program_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        trace_call.main(["--tree", str(tmp_path)])
    assert "name a checkout with --tree" in capsys.readouterr().err


def test_both_ways_lead_from_the_socket_through_the_tool_to_the_database():
    require_binary("bash")
    with trace_call.serving(trace_call.ROOT) as service:
        (call,) = trace_call.trace_calls(service, 1)
        (answer,) = trace_call.trace_answers(service, 1)
    for trace in (call, answer):
        packages = {trace_call.package_of(file) for _, file, _ in trace.entries}
        assert {"api", "tools", "operations", "events", "db"} <= packages
        assert any(file.startswith("app/tools/shell/") for _, file, _ in trace.entries)
        assert trace.stack[-1] == trace_call.TOOL
        assert "app/execution/executor.py" in {file for file, _ in trace.stack}
