"""Administration of databases, search engines, key stores and big data."""

from __future__ import annotations

from app.policy.risk.call import RuleTable
from app.policy.risk.shapes import Rows, Shape, shaped

_WHY = "drops, empties or stops data of a database"
_HELP = r"^(?:-h|--help|-\?|--version|-V|help)$"
_SERVERS: Rows = {
    "nodetool": (
        Shape(
            r"(?:clearsnapshot|decommission|removenode|assassinate|drain|stopdaemon|"
            r"truncatehints|garbagecollect|disable\w*|"
            r"stop|rebuild\w*|cleanup|invalidate\w*|scrub|resetlocalschema|"
            r"resetfullquerylog|sethintedhandoff\w*|pausehandoff|"
            r"move|import|refresh|replaybatchlog|relocatesstables|forcecompact|"
            r"bootstrap|settraceprobability|abortbootstrap|"
            r"cms|repair_admin cancel|compact --user-defined)\b",
            valued="h p u pw pwf -host -port -username -password",
        ),
    ),
    "neo4j-admin": (
        Shape(
            r"(?:database |backup |dbms |server )?(?:load|restore|import|copy|migrate|"
            r"delete)\b",
            having=r"^(?:--overwrite-destination(?:=true)?|--force(?:=true)?|delete|migrate|"
            r"--overwrite-existing)$",
        ),
        Shape(
            r"(?:dbms |server )?(?:unbind\S*|set-initial-password|set-default-admin|"
            r"unbind-system-db|stop)\b"
        ),
    ),
    "neo4j": (Shape(r"(?:stop|windows-service uninstall|uninstall-service)\b"),),
    "elasticsearch-node opensearch-node": (Shape(unless=_HELP + r"|^-s$", having=r"\S"),),
    "elasticsearch-users opensearch-users": (
        Shape(r"(?:userdel|useradd|passwd|roles)\b", unless=r"^list$|" + _HELP),
    ),
    "elasticsearch-reset-password elasticsearch-setup-passwords elasticsearch-service-tokens": (
        Shape(unless=_HELP + r"|^list$"),
    ),
    "elasticsearch-keystore opensearch-keystore kibana-keystore logstash-keystore": (
        Shape(r"(?:remove|passwd|add\S*|create|upgrade)\b"),
    ),
    "elasticsearch-plugin opensearch-plugin kibana-plugin logstash-plugin": (
        Shape(r"(?:remove|uninstall)\b"),
    ),
    "elasticsearch-shard": (Shape(r"remove-\S+"),),
    "curator curator_cli": (
        Shape(
            r"(?:delete\S*|close|shrink|forcemerge|freeze|reindex|restore|rollover|"
            r"alias|allocation|replicas|index_settings|cold2frozen)\b",
            unless=r"^--dry-run$",
            valued="-host -port -config -id -api_key",
        ),
        Shape(r"\S+\.ya?ml", unless=r"^--dry-run$", valued="-config"),
    ),
    "opensearch-cli es": (
        Shape(r"(?:curl |)?(?:delete|profile delete|ad (?:delete|stop)|knn \S+delete)\b"),
    ),
    "couchbase-cli": (
        Shape(
            r"(?:\S*-(?:delete|flush|edit|reset|stop|remove)\b|failover|recovery|"
            r"reset-\S+|host-list-remove|server-eject|node-reset)|(?:rebalance|"
            r"user-manage|group-manage|xdcr-\S+|setting-\S+|collection-manage|"
            r"eventing-\S+|analytics-\S+|user-change-password)\b",
            having=r"^(?:failover|\S+-(?:delete|flush|reset|stop|remove|eject))$|^reset-|"
            r"^--(?:server-remove|delete\S*|drop-\S+|flush|set|hard|undeploy|pause|"
            r"reset\S*)",
        ),
    ),
    "cbbackupmgr": (Shape(r"(?:remove|merge|restore|collect-logs --purge|config --purge)\b"),),
    "cockroach": (
        Shape(
            r"(?:node (?:decommission|drain|recommission)|quit|debug (?:reset-quorum|"
            r"recover|unsafe-remove-dead-replicas|compact|raft-log|apply-config)|"
            r"nodelocal|userfile delete|import|workload init|auth-session logout|init)\b",
            having=r"^(?:quit|decommission|drain|delete|reset-quorum|recover|unsafe-\S+|logout)$",
        ),
    ),
    "tiup": (
        Shape(
            r"(?:(?:cluster|dm) (?:destroy|stop|scale-in|clean|prune|disable|reload|"
            r"rename|patch|upgrade|restart|meta|edit-config|exec)|uninstall|clean|bench "
            r"\S+ cleanup|br restore|tikv-ctl \S+|ctl:\S+ .*(?:delete|del))\b"
        ),
    ),
    "tikv-ctl": (
        Shape(
            having=r"^(?:tombstone|unsafe-recover|recover-mvcc|remove-fail-stores|"
            r"drop-unapplied-raftlog|bad-regions|compact\S*|recreate-region|"
            r"modify-tikv-config|destroy\S*|reset-to-version|flashback)$"
        ),
    ),
    "pd-ctl": (
        Shape(
            having=r"\b(?:delete|remove|cancel|set|resign|transfer|evict|shutdown|tso-reset|"
            r"reset)\b",
            unless=r"^show$",
        ),
    ),
    "ysqlsh yb-ts-cli yb-admin yb-ctl yugabyted": (
        Shape(
            r"(?:delete\w*|destroy|wipe_restart|stop\w*|remove\w*|drop\w*|change_\w+|"
            r"restore\w*|import\w*|leader_stepdown|flush\w*|split_tablet|modify\w*|"
            r"rollback\w*|finalize\w*|blacklist\w*)\b",
            valued="-master_addresses -server_address",
        ),
    ),
    "rethinkdb": (
        Shape(
            r"(?:restore|import|index-rebuild|repair)\b",
            having=r"^--(?:force|repair|drop-cluster)$",
        ),
        Shape(having=r"^--(?:force|reset)$"),
    ),
    "mysqladmin mariadb-admin": (
        Shape(
            r"(?:drop|shutdown|kill|password|flush-\S+|stop-\S+|old-password|refresh|"
            r"reload|create)\b",
            having=r"^(?:drop|shutdown|kill|password|flush-(?:logs|privileges|binary-log|"
            r"tables|hosts)|stop-\S+|old-password)$",
            valued="u h P S -user -host",
        ),
    ),
    "mysqlimport mariadb-import": (Shape(having=r"^(?:-\w*[Dr]|--(?:delete|replace))$"),),
    "mysqlcheck mariadb-check": (Shape(having=r"^(?:-\w*r|--(?:repair|auto-repair|fix-\S+))$"),),
    "myisamchk aria_chk isamchk": (
        Shape(
            having=r"^-\w*[rofBm]|^--(?:recover|safe-recover|force|sort-\S+|zerofill|unpack|"
            r"set-\S+)",
            unless=r"^(?:-\w*[cdei]\w*|--check|--description)$|" + _HELP,
        ),
    ),
    "mysql_secure_installation mariadb-secure-installation mysql_install_db "
    "mariadb-install-db mysql_upgrade mariadb-upgrade mysql_ssl_rsa_setup": (Shape(unless=_HELP),),
    "xtrabackup mariabackup mariadb-backup innobackupex": (
        Shape(having=r"^--(?:copy-back|move-back)$"),
    ),
    "myloader": (Shape(having=r"^(?:-\w*o|--overwrite-tables|--purge-mode\S*|--drop-table\S*)$"),),
    "pt-archiver": (
        Shape(having=r"^--(?:purge|source)\S*$", unless=r"^--(?:dry-run|no-delete|help|version)$"),
    ),
    "pt-kill": (Shape(having=r"^--kill\S*$", unless=r"^--help$"),),
    "pt-table-sync pt-online-schema-change pt-slave-restart pt-index-usage "
    "gh-ost pt-table-checksum": (
        Shape(having=r"^--execute$|^--(?:initially-drop-\S+|ok-to-drop-table|truncate\S*)$"),
    ),
    "mysqlfailover mysqlrpladmin orchestrator-client": (
        Shape(
            having=r"^(?:--exec-\S+|failover|switchover|stop|reset|elect|forget\S*|"
            r"-c\n(?:forget|graceful\S*|force\S*|recover|reset\S*|stop\S*|relocate\S*|"
            r"set-\S+|begin-downtime|move\S*|take\S*|discard))",
            unless=_HELP,
        ),
    ),
    "mysqlrouter mysqlrouter_passwd": (Shape(r"(?:delete|set)\b"),),
    "pg_ctl pg_ctl.exe": (
        Shape(
            r"(?:stop|kill|promote|logrotate|unregister|restart)\b",
            having=r"^(?:stop|kill|promote|unregister)$",
            valued="D l m t U P o w s",
        ),
    ),
    "pg_ctlcluster": (Shape(r"\S+ \S+ (?:stop|promote|kill)\b"),),
    "pg_renamecluster pg_upgradecluster pg_rewind pg_archivecleanup vacuumlo "
    "pg_resetxlog pg_createsubscriber pg_dropcluster pg_resetwal pg_checksums "
    "pg_upgrade": (Shape(unless=_HELP + r"|^(?:-n|--dry-run|--check|-c)$", having=r"\S"),),
    "pgbackrest": (
        Shape(
            r"(?:stanza-delete|stanza-upgrade|expire|restore|stop|repo-rm|repo-put|"
            r"annotate|archive-push)\b",
            having=r"^(?:stanza-delete|expire|restore|stop|repo-rm)$",
            unless=r"^--dry-run$",
        ),
    ),
    "repmgr": (
        Shape(
            r"(?:node rejoin|primary (?:unregister|register)|standby (?:switchover|"
            r"promote|unregister|clone|follow)|cluster cleanup|witness unregister|"
            r"daemon stop|service pause)\b",
            having=r"^(?:rejoin|unregister|switchover|promote|cleanup|stop|pause|-F|--force)$",
            unless=r"^--dry-run$",
        ),
    ),
    "patronictl": (
        Shape(
            r"(?:remove|reinit|failover|switchover|restart|pause|edit-config|flush|"
            r"demote-cluster|scaffold)\b",
            unless=r"^--pending$|" + _HELP,
            valued="c d k -config-file",
        ),
    ),
    "pg_autoctl": (
        Shape(
            r"(?:drop|stop|do \S*destroy|perform (?:failover|switchover|promotion)|"
            r"disable|enable maintenance|set|config set)\b"
        ),
    ),
    "stolonctl": (Shape(r"(?:failkeeper|removekeeper|init|promote|update|spec set)\b"),),
    "litestream": (Shape(r"restore\b", having=r"^-(?:f|force)$"), Shape(r"reset\b")),
    "redis-cli valkey-cli keydb-cli": (
        Shape(
            having=r"^--cluster\n(?:del-node|fix|reshard|call|import|set-timeout|rebalance|"
            r"create)$",
            why="changes a cluster of servers",
        ),
    ),
    "redis-trib redis-trib.rb": (
        Shape(r"(?:del-node|fix|reshard|call|import|set-timeout|rebalance)\b"),
    ),
    "mongofiles": (
        Shape(
            r"(?:delete\S*|put)\b",
            having=r"^delete|--replace",
            valued="d -db -uri h -host -port u p",
        ),
    ),
    "influxd influxd-ctl": (
        Shape(
            r"(?:remove-\S+|leave|truncate-shards|kill-\S+|recovery|restore|upgrade|"
            r"inspect (?:delete-tsm|build-tsi))\b"
        ),
    ),
    "arangorestore": (
        Shape(having=r"^--(?:overwrite|create-database|force)(?:=?|\n)true$|^--all-databases"),
    ),
    "arangodb": (Shape(r"(?:stop|remove|upgrade)\b"),),
    "druid pinot-admin.sh pinot-admin": (
        Shape(
            r"(?i)(?:Delete\w*|Remove\w*|Stop\w*|Move\w*|Rebalance\w*|reset\S*|"
            r"Operate\w*)\b"
        ),
    ),
    "kudu": (
        Shape(
            r"(?:\S+ )?(?:delete\S*|drop\S*|remove\S*|unsafe\S*|leader_step_down|"
            r"rebalance|format|truncate\S*|recover\S*|unregister|abdicate|purge|"
            r"set_flag|rename\S*|change_config|move_replica|restore|update_dirs)\b"
        ),
    ),
    "sdb-admin memsql-admin sdb-toolbox-config memsqlctl": (
        Shape(
            r"(?:delete-\S+|stop-\S+|remove-\S+|uninstall|destroy-\S+|demote-\S+|"
            r"promote-\S+|update-\S+|restore-\S+|restart-\S+|change-\S+|kill-\S+|"
            r"unregister-\S+)\b",
            having=r"^(?:delete|stop|remove|uninstall|destroy|demote|kill|unregister)",
        ),
    ),
    "dbca": (Shape(having=r"(?i)^-(?:delete\w*|unconfigure\w*|unplug\w*|remove\w*)$"),),
    "srvctl crsctl": (
        Shape(
            r"(?:stop|remove|disable|delete|unset|relocate|modify|pin|unpin|replace|"
            r"unregister|downgrade)\b"
        ),
    ),
    "dgmgrl": (
        Shape(
            having=r"(?i)\b(?:failover|switchover|reinstate|remove|disable|convert|shutdown|"
            r"edit)\b"
        ),
    ),
    "rman adrci asmcmd lsnrctl": (
        Shape(
            having=r"(?i)(?:^|[\s'\"])(?:delete|drop|purge|shutdown|restore|rm|umount|stop|"
            r"dropdg|crosscheck.*delete|reset|change|recover|format|chdg|remap|rmalias|"
            r"rmtmpl)\b"
        ),
    ),
    "impdp imp": (Shape(having=r"(?i)TABLE_EXISTS_ACTION=(?:REPLACE|TRUNCATE)|^destroy=y"),),
    "sqlpackage": (Shape(having=r"(?i)^[/-](?:a|action):(?:publish|import)$"),),
    "db2stop db2dropdb db2idrop db2iupdt db2uninstall": (Shape(unless=_HELP),),
    "db2": (
        Shape(
            having=r"(?i)\b(?:drop|delete from|truncate|force applications?|uncatalog|prune|"
            r"restore|reset|deactivate|stop|quiesce|terminate all|purge|load .*replace|"
            r"import .*replace)\b"
        ),
    ),
    "isql-fb gfix gbak gsec": (
        Shape(
            having=r"^-(?:shut\w*|kill|mend|sh|rep\w*|r|delete|modify|add|attach|prefix|"
            r"sql_dialect|mode|recreate|activate\S*|write)$"
        ),
    ),
    "hdfs hadoop": (
        Shape(
            having=r"^-(?:rm|rmr|rmdir|expunge|deleteSnapshot|truncate|delete|disallowSnapshot|"
            r"removePolicy|deletePool|removeCache\w*)$",
            why="deletes files of a cluster",
        ),
        Shape(
            r"(?:namenode|secondarynamenode|journalnode|zkfc)\b",
            having=r"^-(?:format\w*|rollback|upgrade|recover|finalize|initializeSharedEdits|"
            r"bootstrapStandby|importCheckpoint|formatZK)$",
        ),
        Shape(
            having=r"^-(?:safemode\n(?:enter|leave|forceExit)|shutdownDatanode|deleteBlockPool|"
            r"rollEdits|clr\w*Quota|clrSpaceQuota|refreshNodes|"
            r"rollingUpgrade\n(?:prepare|finalize)|finalizeUpgrade|saveNamespace|"
            r"restoreFailedStorage|evictWriters|move|transitionTo\w+|failover|setQuota|"
            r"setSpaceQuota|kill\w*)(?:$|\n)"
        ),
        Shape(
            r"(?:distcp|balancer|mover|diskbalancer|crypto|cacheadmin|storagepolicies|ec)\b",
            having=r"^-(?:delete|overwrite|remove\w*|unset\w*|disable\w*|deleteZone)$",
        ),
    ),
    "mapred yarn": (
        Shape(
            having=r"^-(?:kill\w*|fail-task|stop|destroy|flex|removeFromClusterNodeLabels|"
            r"transitionTo\w+|failover|signal)$",
            why="ends jobs of a cluster",
        ),
    ),
    "oozie": (Shape(having=r"^-(?:kill|suspend|rerun|change|ignore|update)$"),),
    "hbase": (
        Shape(
            r"(?:hbck|clean|wal|org\.\S+|snapshot|backup)\b",
            having=r"^(?:-fix\w*|-repair|--clean\w+|clean|delete|-delete\S*|bypass|-j|"
            r"unassigns|setTableState|filesystem|restore)$",
        ),
    ),
    "hbck2 phoenix-psql stop-hbase.sh stop-dfs.sh stop-yarn.sh stop-all.sh "
    "kafka-server-stop kafka-server-stop.sh zookeeper-server-stop "
    "zookeeper-server-stop.sh stop-master.sh stop-worker.sh stop-cluster.sh": (
        Shape(unless=_HELP),
    ),
    "mmdelfs mmdelnode mmdeldisk mmdelsnapshot mmdelnsd mmdelcallback mmshutdown mmumount": (
        Shape(unless=_HELP),
    ),
    "gel edgedb": (
        Shape(
            r"(?:(?:database|instance|branch|extension|project|server|cloud secretkey) "
            r"(?:drop|destroy|wipe|uninstall|revoke|unlink|revert|reset-password|"
            r"upgrade)|restore|migration (?:squash|edit)|self uninstall)\b"
        ),
    ),
    "surreal": (Shape(r"(?:import|restore|fix)\b"),),
    "ldapdelete ldapmodify ldapmodrdn ldapadd ldappasswd slapadd slapmodify "
    "ldbdel ldbmodify ldbrename dsconf dsctl db2index.pl remove-ds.pl": (
        Shape(unless=r"^-n$|^-\w*V$|" + _HELP, having=r"\S", why="changes a directory of accounts"),
    ),
    "pg_restore": (Shape(having=r"^(?:-\w*c|--clean)$"),),
    "snow": (
        Shape(
            r"(?:object|stage|spcs \S+|streamlit|app|cortex|notebook|git|connection|"
            r"helpers|dbt|snowpark)\b (?:\S+ )?(?:drop|remove|delete|teardown|undeploy|"
            r"stop|suspend|terminate)\b"
        ),
    ),
    "bq": (
        Shape(r"(?:rm|remove\S*|truncate|cancel)\b", valued="-project_id -dataset_id -location"),
        Shape(r"(?:load|cp|query|mk)\b", having=r"^--(?:replace|replace=true|force)$|^-f$"),
    ),
    "dbt": (
        Shape(r"(?:run|build|seed|snapshot)\b", having=r"^(?:--full-refresh|-f)$"),
        Shape(r"run-operation (?:drop|delete|clean|truncate|remove)\S*"),
        Shape(r"cloud \S+ (?:delete|cancel)\b"),
    ),
    "datasette sqlite-utils": (
        Shape(r"(?:drop-\S+|reset-counts|disable-\S+|transform|truncate|delete\S*)\b"),
    ),
    "etcdutl": (Shape(r"(?:snapshot restore|migrate)\b"),),
    "etcdctl": (
        Shape(
            r"(?:del|rm|rmdir|snapshot restore|alarm disarm|lease revoke|(?:role|user) "
            r"(?:delete|revoke\S*)|auth disable|member (?:remove|update|promote)|"
            r"move-leader|downgrade|compaction|compact)\b",
            valued="-endpoints -cacert -cert -key -user",
        ),
    ),
    "consul": (
        Shape(
            r"(?:kv delete|leave|force-leave|snapshot restore|operator (?:raft "
            r"remove-peer|autopilot set-config)|acl \S+ delete|config delete|services "
            r"deregister|maint|intention delete|connect ca set-config|namespace delete|"
            r"partition delete|peering delete|keyring)\b",
            unless=r"^-(?:list|help|h)$",
        ),
    ),
    "vault bao": (
        Shape(
            r"(?:delete|(?:kv |secrets |auth |audit |lease |token |policy |namespace |"
            r"plugin )?(?:delete|destroy|disable|revoke|deregister|rollback|move)|kv "
            r"(?:metadata delete|rollback)|operator (?:seal|step-down|raft "
            r"(?:remove-peer|snapshot restore)|rekey|migrate|rotate|generate-root))\b"
        ),
    ),
    "nomad": (
        Shape(
            r"(?:(?:job )?stop|job (?:revert|scale \S+ (?:\S+ )?0)|system (?:gc|"
            r"reconcile)|node (?:drain|eligibility|purge)|server force-leave|volume "
            r"(?:delete|deregister|detach)|namespace delete|acl \S+ delete|var purge|"
            r"operator (?:raft remove-peer|snapshot restore|autopilot set-config|"
            r"keyring remove|scheduler set-config|gossip keyring remove)|deployment "
            r"(?:fail|pause)|alloc (?:stop|signal)|quota delete|sentinel delete|service "
            r"delete)\b",
            unless=r"^-help$",
        ),
    ),
    "zkcli zkcli.sh zkcli.cmd": (
        Shape(having=r"\b(?:delete\w*|rmr|setAcl|setquota|delquota|reconfig|removewatches)\b"),
    ),
}
RULES: RuleTable = shaped("database_admin", _WHY, _SERVERS)
