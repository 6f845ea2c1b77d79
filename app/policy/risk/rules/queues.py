"""Queues, brokers, caches and mailboxes: deleting messages, stopping services."""

from __future__ import annotations

from app.policy.risk.call import RuleTable
from app.policy.risk.shapes import Rows, Shape, shaped

_HELP = r"^(?:-h|--help|-\?|--version|-V|help)$"
_QUEUES: Rows = {
    "rabbitmqctl": (
        Shape(
            r"(?:reset|force_reset|delete_\w+|purge_\w+|stop\w*|forget_\w+|clear_\w+|"
            r"close_\w+|remove_\w+|force_boot|rename_\w+|change_\w+|disable_\w+|"
            r"set_disk_\w+|set_vm_\w+|suspend_\w+|shutdown|decommission_\w+|"
            r"cancel_sync_queue)\b",
            valued="n p t -node -vhost -timeout",
        ),
    ),
    "rabbitmq-queues rabbitmq-streams rabbitmq-upgrade rabbitmq-plugins rabbitmq-diagnostics": (
        Shape(r"(?:delete_\w+|shrink|rebalance|drain|disable|stop|remove_\w+|force_\w+)\b"),
    ),
    "rabbitmqadmin": (
        Shape(
            r"(?:delete|purge|close|import|delete_\w+)\b",
            valued="H P u p V c N -host -port -username -password -vhost",
        ),
        Shape(
            r"(?:\S+ )?(?:delete|purge|close|clear)\b",
            valued="H P u p V c N -host -port -username -password -vhost",
        ),
    ),
    "kafka-topics kafka-topics.sh kafka-consumer-groups "
    "kafka-consumer-groups.sh kafka-acls kafka-acls.sh kafka-configs "
    "kafka-configs.sh kafka-delegation-tokens.sh kafka-reassign-partitions.sh "
    "kafka-leader-election.sh kafka-cluster.sh "
    "kafka-features.sh kafka-transactions.sh "
    "kafka-streams-application-reset.sh kafka-storage.sh "
    "kafka-metadata-quorum.sh kafka-share-groups.sh kafka-groups.sh": (
        Shape(
            having=r"^--(?:delete\S*|remove\S*|execute|alter|expire|cancel|force|disable|"
            r"downgrade)$|^(?:unregister|format|disable|downgrade|abort|force-terminate|"
            r"remove-controller)$",
            unless=r"^--dry-run$",
        ),
    ),
    "kafka-delete-records kafka-delete-records.sh": (Shape(unless=_HELP),),
    "kaf kafkactl kcl rpk": (
        Shape(
            r"(?:\S+ ){0,3}(?:delete\S*|remove\S*|purge|reset\S*|trim\S*|alter|"
            r"decommission|stop|uninstall|disable|unregister|clear|delete-offset|"
            r"offset-delete|seek|trim-prefix|deregister)\b",
            unless=r"^--(?:dry|dry-run)$",
            valued="X -brokers -config b",
        ),
    ),
    "nats nats-streaming": (
        Shape(
            r"(?:\S+ ){1,2}(?:rm|remove|del|delete|purge|rmm|seal|reset|step-down|"
            r"stepdown|peer-remove|evacuate|clear|pause|kick|evict|unpin|restore|"
            r"balance|revoke)\b|(?:kv|object|obj|stream|str|s|consumer|con|c|context|"
            r"ctx|server|account|auth) (?:rm|del|purge|rmm)\b",
            valued="s -server -context -creds -user",
        ),
    ),
    "nsc": (Shape(r"(?:delete|revocations|reset|restore|push|migrate)\b"),),
    "pulsar-admin": (
        Shape(
            r"(?:\S+ )?(?:delete\S*|remove\S*|clear\S*|terminate|unload|expire\S*|"
            r"reset-cursor|skip\S*|truncate|stop|revoke\S*|unsubscribe|trim-topic|kill|"
            r"split\S*)\b",
            valued="-admin-url -auth-plugin -auth-params",
        ),
    ),
    "celery": (
        Shape(
            r"(?:(?:amqp|control|multi|events|call|purge|amqp queue\.\S+)\b )?(?:purge|"
            r"shutdown|pool_shrink|cancel_consumer|terminate|revoke|queue\.(?:purge|"
            r"delete)|exchange\.delete|kill|stop\w*|rate_limit)\b",
            valued="A b -app -broker -workdir -result-backend",
        ),
    ),
    "rq": (Shape(r"(?:empty|suspend|cancel)\b", valued="u c -url -config"),),
    "rqscheduler sidekiqctl sidekiqmon resque-web": (Shape(r"(?:stop|quiet|clear|delete|kill)\b"),),
    "dramatiq huey_consumer faktory taskiq arq": (
        Shape(having=r"^(?:--clear|--flush|flush|--purge)$"),
    ),
    "bull bullmq bull-repl arena": (
        Shape(r"(?:\S+ )?(?:rm\S*|clean\S*|obliterate|drain|empty|remove\S*|pause)\b"),
    ),
    "beanstalkd-cli beanstalk-cli bsctl mosquitto_ctrl": (
        Shape(
            having=r"^(?:delete\S*|kick\S*|bury|clear\S*|remove\S*|disable\S*|set\S*|create\S*|"
            r"add\S*)$",
            unless=r"^(?:list\S*|get\S*)$",
        ),
    ),
    "activemq artemis": (
        Shape(
            r"(?:\S+ )?(?:purge|delete|stop|kill|rm|reset|remove|destroy|purge --\S+|"
            r"data (?:imp|recovery|compact))\b"
        ),
    ),
    "emqx emqx_ctl": (
        Shape(
            r"(?:(?:\S+ ){0,2}(?:leave|kick|delete|del|stop|disable|clean|remove|unload|"
            r"force-leave|ban|reset|evict\S*|rebalance start|purge|uninstall|import))\b",
            unless=r"^(?:list|show|status)$",
        ),
    ),
    "vmq-admin": (
        Shape(
            r"(?:\S+ )?(?:leave|disconnect|delete|kill|stop|disable|reset|reauthorize|"
            r"clear)\b"
        ),
    ),
    "memcflush memrm memcrm memflush memdelete": (Shape(unless=_HELP, why="empties a cache"),),
    "mqctl runmqsc endmqm dltmqm amqmdain strmqm rcrmqobj": (
        Shape(unless=_HELP + r"|^-(?:v|n|c)$"),
    ),
    "qpid-config qpid-tool qdmanage": (
        Shape(r"(?i)(?:del|delete|update|purge|close)\b", valued="b a -broker"),
        Shape(having=r"(?i)^(?:del|DELETE|UPDATE)$"),
    ),
    "postsuper": (Shape(having=r"^-\w*[dhHrse]"),),
    "exim exim4": (
        Shape(having=r"^-M(?:rm|f|g|ar|es|mad|set|t|r)?$|^-(?:qff|odf)$"),
        Shape(having=r"^-M(?:rm|g|f|mad|es|ar)\b"),
    ),
    "postqueue mailq": (Shape(having=r"^-\w*[dq]\w*$|^-(?:f|i|s)$", unless=r"^-[pj]$"),),
    "qmHandle qmhandle eximrm": (Shape(having=r"^-[dDSFTx]"),),
    "doveadm": (
        Shape(
            r"(?:\S* ?)?(?:expunge|purge|kick|deduplicate|move|stop|(?:mailbox|acl|"
            r"altmove|auth|quota|index|fts|replicator|dict|instance|penalty|mailbox "
            r"cache|mailbox metadata|sieve|fs) (?:delete|remove|unset|purge|clear|cache "
            r"flush|flush|rescan|update)|backup|force-resync)\b",
            valued="u A o f c",
        ),
    ),
    "mailutil": (Shape(r"(?:prune|delete|transfer|move|dedup|expunge|rename)\b"),),
    "cyradm cyr_expire reconstruct ipurge unexpunge imapfilter mbox-purge "
    "archivemail imap-purge imapdedup imapsync offlineimap-delete": (
        Shape(
            unless=r"^(?:-n|--dry-run|-d|--dry|--just\S+|--justlogin|-l)$|" + _HELP,
            having=r"^(?:--delete\S*|-X|-D|-E|-p|-x|-f|-r|--expunge\S*|\w.*)$",
        ),
    ),
    "notmuch": (Shape(r"(?:restore|config set database\.\S+)\b"),),
}

RULES: RuleTable = shaped("queue", "deletes the messages of a queue, or stops it", _QUEUES)
