"""A proof equals what evaluating every call and every case with and without the rule gives."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from app.policy.evaluator import decide
from app.policy.proposals.bodies import Draft
from app.policy.proposals.corpus import Corpus, CorpusCase, packaged, programs_of
from app.policy.proposals.generalise import drafts
from app.policy.proposals.history import Ending
from app.policy.proposals.opposite import denials
from app.policy.proposals.proof import Proof, ProofInputs, case_facts, proposed_rule, prove
from app.policy.risk.assess import assess_command
from app.policy.risk.model import Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.definition import RuleDefinition
from app.policy.rules.rule import Rule, build_rule
from app.policy.rules.rule_set import RuleSet, ToolRules
from scripts.write_corpus import commands
from tests.policy.proposals.recorded import NOW, TOOLS, call, inputs

pytestmark = pytest.mark.requirement("FTG-3")

WORDS = [
    "rm tmp/{0}.log",
    "rm tmp/{0}.log && echo done",
    "cd tmp && rm {0}.log",
    "sudo rm tmp/{0}.log",
    "rm -f tmp/{0}.log",
    "rm tmp/*.log",
    "rm ../tmp/{0}.log",
    "rm tmp/{0}.log > notes.txt",
    "pkill -f vite",
    "git push --force origin {0}",
    "git push origin {0}",
    "rm tmp/«redacted».log",
    "curl -X DELETE http://localhost:8000/items/{0}",
    "ls -la {0}",
    "rm $(cat {0})",
    "bash -c 'rm tmp/{0}.log'",
]
ENDINGS: list[Ending] = [
    "approved",
    "approved",
    "approved",
    "declined",
    "denied",
    "unanswered",
    "unasked",
]


class Unindexed(ToolRules):
    """Rules of a tool, all of them tried on every call."""

    def about(self, view: CallView) -> Iterable[Rule]:
        del view
        return self.all


class PlainRules(RuleSet):
    """Rules without an index and without a cache."""

    def for_tool(self, name: str) -> ToolRules:
        return Unindexed([rule for rule in self.rules if rule.concerns(TOOLS[name])])


def brute_force(draft: Draft, given: ProofInputs) -> dict[str, Any]:
    """Evaluate each call and each case with the full rule sets, and count."""
    rules = given.history.rules.rules
    without = [rule for rule in rules if rule.id != draft.rule_id]
    added = [] if draft.kind == "remove" else [proposed_rule(draft)]
    before, after = PlainRules(rules, TOOLS), PlainRules([*without, *added], TOOLS)
    counted = dict.fromkeys(
        ("questions", "let_through", "refused", "denied", "asked", "matched", "corpus"), 0
    )
    for item in given.history.calls:
        if not item.is_replayable:
            continue
        was = decide(item.call.facts, rules=before, now=NOW).verdict
        would = decide(item.call.facts, rules=after, now=NOW).verdict
        counted["matched"] += was is not would
        if was is not would and would is Verdict.ALLOW:
            counted["let_through"] += 1
            asked = item.ending not in ("unasked", "denied")
            counted["questions"] += was is Verdict.ASK and asked
            counted["refused"] += item.ending in ("declined", "denied")
        counted["denied"] += was is not would and would is Verdict.DENY
        counted["asked"] += was is Verdict.ALLOW and would is Verdict.ASK
    for case in given.corpus.of_shell("bash"):
        facts = case_facts(case, TOOLS["bash"], *_place(draft))
        was = decide(facts, rules=before, now=NOW).verdict
        would = decide(facts, rules=after, now=NOW).verdict
        if draft.kind == "deny":
            counted["corpus"] += was is Verdict.ALLOW and would is not was
        else:
            order = [Verdict.ALLOW, Verdict.ASK, Verdict.DENY]
            counted["corpus"] += order.index(would) < order.index(was)
    return counted


def _place(draft: Draft) -> tuple[str, str | None]:
    if draft.evidence:
        return draft.evidence[0].call.facts.cwd, draft.evidence[0].call.facts.agent_id
    return "/workspace", None


def proven(proof: Proof) -> dict[str, Any]:
    return {
        "questions": proof.questions,
        "let_through": proof.let_through_total,
        "refused": proof.refused_total,
        "denied": proof.newly_denied,
        "asked": proof.newly_asked,
        "matched": proof.matched,
        "corpus": proof.corpus_changed_total,
    }


def some_rules(chance: random.Random) -> Iterator[Rule]:
    """Stored rules beside the proposed one."""
    bodies: list[dict[str, Any]] = [
        {"match": {"argv": ["git", "push", "..."]}, "decision": "ask", "justification": "why"},
        {"match": {"paths": ["tmp/k*"]}, "decision": "deny", "justification": "kept"},
        {"match": {"argv": ["pkill", "..."]}, "decision": "allow"},
        {"match": {"argv": ["rm", "tmp/*"]}, "decision": "allow", "scope": "agent:tester"},
    ]
    for at, body in enumerate(bodies):
        if chance.random() < 0.5:
            definition = RuleDefinition.model_validate({"tool": "bash", **body})
            yield build_rule(f"rul_{at}", definition)


def some_inputs(seed: int, corpus: Corpus) -> ProofInputs:
    """A history of random calls, with enough equal approvals for proposals."""
    chance = random.Random(seed)
    calls = [
        call(
            chance.choice(WORDS).format(chance.choice("abcdefghk")),
            chance.choice(ENDINGS),
            day=chance.randint(1, 4),
            agent=chance.choice(["coder", "coder", "tester", None]),
        )
        for _ in range(120)
    ]
    for _ in range(8):
        name = chance.choice("abcdefgh") + chance.choice("xyz")
        calls.append(call(f"rm tmp/{name}.log", day=chance.randint(1, 3)))
        calls.append(call(f"rm out/{name}.js", day=chance.randint(1, 3)))
    return inputs(calls, some_rules(chance), corpus)


@pytest.mark.parametrize("seed", range(8))
def test_a_proof_equals_brute_force(seed: int) -> None:
    cases = random.Random(seed).sample(packaged().cases, 250)
    given = some_inputs(seed, Corpus(cases))
    removable = [
        Draft("remove", {"tool": "bash", "decision": "allow"}, (), "", rule_id=rule.id)
        for rule in given.history.rules.rules
    ]

    candidates = [*drafts(given.history, NOW), *denials(given.history), *removable]

    assert candidates
    for draft in candidates:
        assert proven(prove(draft, given)) == brute_force(draft, given), draft.body


def test_a_proof_over_much_of_the_corpus_equals_brute_force() -> None:
    # Wide on purpose: a proposal never is, but then its proof must say so.
    body = {"tool": "bash", "match": {"argv": ["rm", "..."]}, "decision": "allow"}
    calls = tuple(call(f"rm tmp/{name}.log") for name in "abcdef")
    given = inputs(calls, corpus=Corpus(packaged().cases[::5]))
    draft = Draft("allow", body, calls, "")

    proof = prove(draft, given)

    assert proven(proof) == brute_force(draft, given)
    assert proof.corpus_changed_total > 20
    assert not proof.holds


def test_the_packaged_corpus_is_that_of_the_tests() -> None:
    found = {(case.shell, case.command) for case in packaged().cases}

    assert found == set(commands()), "run `python -m scripts.write_corpus`"


def test_the_packaged_programs_are_those_of_the_commands() -> None:
    for case in random.Random(7).sample(packaged().cases, 1_000):
        assert case.programs == programs_of(case.command, case.shell), case


def test_a_case_that_a_rule_cannot_concern_is_left_out() -> None:
    rule = build_rule(
        "r",
        RuleDefinition.model_validate(
            {"tool": "bash", "match": {"argv": ["rm", "a"]}, "decision": "allow"}
        ),
    )
    cases = [
        CorpusCase("bash", text, programs_of(text, "bash"))
        for text in ("rm a", "rm b", "git rm a", "sudo rm a", "$X rm a")
    ]
    corpus = Corpus(cases)

    concerned = [case.command for case in cases if corpus.may_concern(case, rule)]

    assert concerned == ["rm a", "sudo rm a"]
    assert assess_command("rm a").verdict is Verdict.ASK


def test_masked_calls_prove_nothing() -> None:
    calls = [call(f"rm tmp/{name}.log", day=1 + at % 2) for at, name in enumerate("abcdef")]
    masked = call("rm tmp/«redacted».log", "declined")
    kept = call({"command": "rm tmp/x.log", "keep_state": True}, "declined")
    given = inputs([*calls, masked, kept])

    (draft,) = drafts(given.history, NOW)
    proof = prove(draft, given)

    assert (proof.judged, proof.unknowable, proof.questions) == (6, 2, 6)
    # The words of a declined call count, even where its directory is not known.
    assert proof.declined_elsewhere == 0


def test_a_call_that_is_let_through_is_listed_up_to_a_limit() -> None:
    calls = [call(f"rm tmp/{number}.log", day=1 + number % 2) for number in range(80)]
    given = inputs(calls)
    (draft,) = drafts(given.history, NOW)

    proof = prove(draft, given)

    assert (proof.let_through_total, len(proof.let_through)) == (80, 50)
    assert proof.let_through[0]["arguments"]["command"].startswith("rm tmp/")
