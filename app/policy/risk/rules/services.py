"""Clients of services: secret stores, messaging, gateways, backups, flags, monitoring, payments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, RuleTable, ask, names, options, table
from app.policy.risk.model import RiskLevel

_LOSSY = frozenset(
    names(
        "delete del destroy remove rm purge reset uninstall archive kill clear wipe unregister "
        "delete-batch remove-secret delete-all hard-delete undeploy clean rdelete repo-delete drop"
    )
)
_RUNS = frozenset(["run", "exec", "--"])
"""Separators before another program with its words."""


def _client(call: CommandCall) -> Iterator[Answer]:
    """Handle tools of the form `tool noun verb name`."""
    if {"--help", "-h", "--dry-run"} & set(call.args):
        return
    words = options(call.args, "p c s n e -project -config -server -namespace -context").rest[:3]
    for word in words:
        if word in _RUNS:
            return
        if word in _LOSSY:
            yield ask("cloud_delete", f"{call.name} {word} deletes data of a service")
            return


_SPECIAL: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for listed, pattern in {
        "kafka-consumer-groups kafka-acls kafka-configs": r"--(?:delete|remove|delete-config)\b"
        r"|--reset-offsets.*--execute",
        "kafka-delete-records": r"",
        "azcopy": r"^(?:remove|rm)\b|--delete-destination(?:=|\s+)(?:true|prompt)",
        "mc mcli": r"^mirror\b.*--remove|^admin\b.*\b(?:remove|delete|rm)\b",
        "restic": r"^key\s+remove\b",
        "rclone": r"^dedupe\b",
        "borg": r"^(?:repo-delete|rdelete|break-lock)\b",
        "vault": r"^(?:auth|audit) disable\b|^lease revoke\b",
        "rabbitmqctl": r"forget_cluster_node|clear_permissions",
        "exim exim4": r"^-M(?:rm|g)\b",
        "postsuper": r"^-\w*d\b|^-d",
        "ssh-add": r"^-[a-zA-Z]*[dD]",
        "bfg": r"--(?:delete-files|delete-folders|strip-blobs\S*|replace-text)",
        "redis-trib": r"^del-node|^fix",
        "pm2": r"^(?:delete|kill)\b",
        "supervisorctl": r"^(?:stop|shutdown|remove)\b",
        "dmsetup": r"^(?:remove|remove_all|wipe_table|suspend)\b",
        "guix": r"^gc\b(?!.*--list)",
        "nix": r"^store (?:gc|delete)\b",
        "zkCli.sh zkCli": r"\b(?:delete|deleteall|rmr)\b",
    }.items()
    for name in listed.split()
}


def _special(call: CommandCall) -> Iterator[Answer]:
    pattern = _SPECIAL[call.name.removesuffix(".sh")]
    if pattern.search(" ".join(call.args)) and not {"--help", "-h", "--dry-run"} & set(call.args):
        yield ask("cloud_delete", f"{call.name} deletes data of a service")


_SERVER_STOPS = frozenset(names("stop quit graceful-stop shutdown kill interrupt"))


def _web_server(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "s c p g e k f")
    if given.value("-s", "-k") in _SERVER_STOPS or not _SERVER_STOPS.isdisjoint(given.rest[:1]):
        yield ask("service", f"{call.name} stops the web server", RiskLevel.MEDIUM)


RULES: RuleTable = {
    **table(
        "op doppler velero nats circleci apigeecli deck flipt ldcli unleash stripe algolia pd "
        "newrelic datadog-ci splunk rpk rabbitmqadmin gitlab-runner pscale turso neonctl neon "
        "temporal confluent pulsar-admin auth0 cloudflared tkn kn argo dapr linkerd cilium "
        "talosctl upstash sentry-cli mongocli bk appwrite sanity contentful shopify",
        _client,
    ),
    **table(" ".join(_SPECIAL), _special),
    **table("kafka-consumer-groups.sh kafka-acls.sh kafka-configs.sh", _special),
    "kafka-delete-records.sh": _special,
    **table("nginx apachectl httpd apache2ctl caddy squid lighttpd openresty tengine", _web_server),
}
