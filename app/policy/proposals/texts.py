"""Proposals in sentences, for people who decide them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.policy.proposals.bodies import described

_VERBS = {"allow": "Allow", "deny": "Deny", "remove": "Remove the rule about"}


def title_of(kind: str, body: Mapping[str, Any]) -> str:
    """Return what a proposal would change, in one line."""
    scope = str(body.get("scope", "global"))
    agent = scope.removeprefix("agent:")
    whom = "" if scope == "global" else f" for the agent {agent}"
    until = ""
    if kind == "allow" and body.get("expires_at"):
        until = f" until {str(body['expires_at'])[:10]}"
    where = ""
    paths = (body.get("match") or {}).get("paths") or ()
    if kind == "allow" and paths:
        where = f" below {str(paths[0]).removesuffix('/**')}"
    return f"{_VERBS.get(kind, kind)} `{described(body)}`{where}{whom}{until}"


def summary_of(kind: str, proof: Mapping[str, Any]) -> str:
    """Return what the proof shows, in at most three sentences."""
    judged = proof.get("judged", 0)
    if kind == "allow":
        said = (
            f"Of the newest {judged} calls, {proof.get('questions', 0)} questions would not have "
            f"been asked, and {proof.get('let_through_total', 0)} calls would have run without one."
        )
    elif kind == "deny":
        said = (
            f"Of the newest {judged} calls, {proof.get('newly_denied', 0)} would have been denied, "
            f"of which people approved {proof.get('newly_denied_approved', 0)}."
        )
    else:
        said = f"Of the newest {judged} calls, {proof.get('matched', 0)} depend on the rule."
    problems = proof.get("problems") or ()
    if problems:
        return f"{said} It does not hold: {'; '.join(problems)}."
    said += (
        f" No declined or denied call and none of {proof.get('corpus_judged', 0)} cases of the "
        "risk corpus would pass that did not."
    )
    unsure = proof.get("unknowable", 0) + proof.get("not_judged", 0)
    return f"{said} {unsure} further calls prove nothing." if unsure else said
