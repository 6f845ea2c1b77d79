"""All routes; importing this module builds them."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute

from app.api.deprecated_paths import renamed_paths
from app.api.rest import (
    artifacts,
    calls,
    chat_links,
    checkpoints,
    confirmations,
    delegations,
    desktop,
    events,
    files,
    health,
    identity,
    logins,
    notification_subscriptions,
    push,
    questions,
    runs,
    sessions,
    substitutes,
    system,
    timeline,
    todos,
    tools,
    webhook_deliveries,
)
from app.api.rest.admin import agents as admin_agents
from app.api.rest.admin import approval_policies as admin_approval_policies
from app.api.rest.admin import approver_groups as admin_approver_groups
from app.api.rest.admin import audit as admin_audit
from app.api.rest.admin import can_i as admin_can_i
from app.api.rest.admin import channels as admin_channels
from app.api.rest.admin import confirmations as admin_confirmations
from app.api.rest.admin import delegations as admin_delegations
from app.api.rest.admin import desktop_tasks as admin_desktop_tasks
from app.api.rest.admin import doctor as admin_doctor
from app.api.rest.admin import forum as admin_forum
from app.api.rest.admin import grants as admin_grants
from app.api.rest.admin import hooks as admin_hooks
from app.api.rest.admin import limits as admin_limits
from app.api.rest.admin import memory as admin_memory
from app.api.rest.admin import network as admin_network
from app.api.rest.admin import notification_channels as admin_notification_channels
from app.api.rest.admin import notification_subscriptions as admin_notification_subscriptions
from app.api.rest.admin import plugins as admin_plugins
from app.api.rest.admin import projects as admin_projects
from app.api.rest.admin import resolve as admin_resolve
from app.api.rest.admin import rule_drafts as admin_rule_drafts
from app.api.rest.admin import rule_fatigue as admin_rule_fatigue
from app.api.rest.admin import rule_proposals as admin_rule_proposals
from app.api.rest.admin import rule_trials as admin_rule_trials
from app.api.rest.admin import rules as admin_rules
from app.api.rest.admin import schedules as admin_schedules
from app.api.rest.admin import settings as admin_settings
from app.api.rest.admin import skills as admin_skills
from app.api.rest.admin import sources as admin_sources
from app.api.rest.admin import tickets as admin_tickets
from app.api.rest.admin import tokens as admin_tokens
from app.api.rest.admin import tools as admin_tools
from app.api.rest.admin import triggers as admin_triggers
from app.api.rest.admin import usage as admin_usage
from app.api.rest.admin import webhooks as admin_webhooks
from app.api.ws.desktop import router as desktop_ws_router
from app.api.ws.endpoint import router as ws_router


def every_route() -> Sequence[BaseRoute]:
    """Return all routes in matching order."""
    # Calls first, since each route before them costs every call 2 µs; and `/tools/calls` before
    # `/tools/{name}`.
    subjects = (
        *(calls, health, system, identity, logins, sessions, runs, events, tools, confirmations),
        *(artifacts, files, questions, substitutes, push, chat_links),
        *(delegations, admin_delegations),
        *(checkpoints, timeline, todos),
        *(admin_confirmations, admin_grants, admin_tickets),
        *(admin_approver_groups, admin_approval_policies),
        *(admin_tools, admin_agents, admin_projects, admin_network, admin_resolve),
        *(admin_tokens, admin_skills),
        *(admin_can_i, admin_sources),
        *(admin_channels, admin_desktop_tasks, desktop),
        *(notification_subscriptions, admin_notification_channels),
        *(admin_notification_subscriptions,),
        *(admin_audit, admin_forum, admin_schedules),
        *(admin_doctor, admin_settings),
        *(admin_hooks, admin_plugins, admin_limits, admin_memory, admin_usage),
        *(admin_triggers, admin_webhooks, webhook_deliveries),
        # `/admin/rules/fatigue` before `/admin/rules/{rule_id}`.
        *(admin_rule_drafts, admin_rule_trials, admin_rule_fatigue),
        *(admin_rules, admin_rule_proposals),
    )
    routes = [route for subject in subjects for route in subject.router.routes]
    return (*routes, *renamed_paths, *ws_router.routes, *desktop_ws_router.routes)
