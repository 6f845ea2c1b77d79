"""Links lead somewhere, quotations are true, pages are reachable."""

import re
from collections import Counter
from urllib.parse import urlsplit

import pytest

from app.resolver.reasons import LAYERS
from tests.docs.pages import anchors, links, markdown, quoted
from tests.support.source import ROOT

# What the seeds say of each subject, under the names that the product has for it.
SUBJECTS = {
    "tool-governance": "tool_names disabled_reasons runtime_diagnostic allow ask deny unattended",
    "tool-runtime-policy": "main main-process-proxy worker-local disabled worker_routing_hint"
    " effective_subagent_allowed runtime_blocked_reason",
    "tool-operations": "files search processes outside_workspace app/operations/fakes",
    "tool-catalog": "builtin plugin external TOOLS category=",
    "mysql-data-source": "mysql_list_sources mysql_schema mysql_table_sample mysql_query SELECT"
    " max_rows masked_column",
    "image-generation-tools": "text_to_image image_to_image artifact_id provenance missing_config",
    "runtime-process-events": "process_progress process_event operation_id op_seq log_ref",
    "desktop-op-module": "weixin_send_text autoReply bizContext.channelId claim channel_off",
    "agent-runtime": "run_finished max_turns when_busy model max_tokens temperature",
    "subagent-session": "delegate_task subagent_started subagent_finished child_run_id"
    " parent_tool_call_id requested_by",
    "frontend-architecture": "reduce seq renderers.register src/chat src/admin raw_result",
    "prompt-builder": "search_tools app/agents/prompt/builder.py app/agents/prompt/facts.py",
}


def test_every_link_inside_the_project_leads_to_a_file_and_a_heading_that_exist():
    broken = []
    for page in markdown():
        for target in links(page):
            parts = urlsplit(target)
            if parts.scheme:
                continue
            file = (page.parent / parts.path).resolve() if parts.path else page
            whole = file.exists() and (not parts.fragment or parts.fragment in anchors(file))
            if not whole or not file.is_relative_to(ROOT):
                broken.append((page.name, target))
    assert broken == []


def test_the_index_leads_to_every_page():
    docs = ROOT / "docs"
    reached = {(docs / urlsplit(link).path).resolve() for link in links(docs / "index.md")}
    assert {page for page in markdown() if docs in page.parents} - reached == {docs / "index.md"}


@pytest.mark.requirement("DOC-01")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_subject_of_the_seeds_has_a_page_that_says_it_and_that_others_lead_to(subject: str):
    page = ROOT / "docs" / f"{subject}.md"
    text = page.read_text(encoding="utf-8")
    assert len(text) > 1000
    named = " ".join(re.findall(r"`([^`\n]+)`", text))
    missing = [
        w for w in SUBJECTS[subject].split() if not re.search(rf"(?<!\w){re.escape(w)}", named)
    ]
    assert missing == []
    leading = [
        other
        for other in markdown()
        if other != page
        and any((other.parent / urlsplit(link).path).resolve() == page for link in links(other))
    ]
    assert len(leading) > 1, "the index alone leads there"


def test_code_on_a_page_is_the_code_of_the_file_it_names():
    counted: Counter[str] = Counter()
    for page, kind, name, text in quoted():
        source = (ROOT / name).read_text(encoding="utf-8")
        if kind == "file":
            assert text == source, f"{page.name} quotes another {name}"
        else:
            assert text in source, f"{page.name} quotes lines that {name} does not have"
        counted[kind] += 1
    assert counted == {"file": 12, "lines of": 1}


def test_every_reason_why_a_tool_is_missing_is_explained_under_its_layer():
    page = (ROOT / "docs" / "governance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (`[a-z_`, ]+) \|", page, re.MULTILINE)
    reported = {code: layer for layer, codes in rows for code in re.findall(r"\w+", codes)}
    assert reported == dict(LAYERS)


def test_a_line_of_prose_holds_one_sentence():
    crowded = []
    for page in markdown():
        fenced = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.startswith("```")
            plain = not fenced and re.match(r"\w|- |\d+\. |  \w", line)
            if plain and re.search(r"[a-z`)]\. [A-Z`]", line):
                crowded.append(f"{page.name}:{number}")
    generated = ("tools.md", "protocol-messages.md")
    assert [place for place in crowded if not place.startswith(generated)] == []
