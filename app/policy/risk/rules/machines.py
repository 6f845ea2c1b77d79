"""Virtual machines, containers, storage, backups and platforms with many verbs.

Their tools share the form `program noun verb name`. One rule assesses all of them by the verb;
exceptions have separate rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, Rule, RuleTable, ask, options, run, table
from app.policy.risk.shapes import Rows, Shape, shaped, together
from app.policy.risk.verbs import STOPPING, TAKING_AWAY, verb_among

_HELP = r"^(?:-h|--help|-\?|--version|-V|help)$"
_TRIES = r"^(?:-n|--dry-run(?:=(?!none|false)\S+)?|--dryrun|--simulate|--check|--list)$|" + _HELP
_VALUED = (
    "n c p s H u a o -namespace -context -project -config -server -host -user "
    "-profile -region -zone "
    "-cluster -name -repo -repository -repository-file -password-file -pool "
    "-id -remote -output -format "
    "-url -token -org -app -environment -env -storage -location"
)
_PLACES = 4


def _judged_by_verb(code: str, why: str, verbs: frozenset[str]) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        found = verb_among(options(call.args, _VALUED).rest[:_PLACES], verbs)
        if found is not None:
            yield ask(code, f"{call.name} {found} {why}")

    return rule


_REMOVED = _judged_by_verb("cloud_delete", "deletes the data of a service or store", TAKING_AWAY)
_STOPPED = _judged_by_verb("cloud_delete", "deletes or stops a service", TAKING_AWAY | STOPPING)

_TOOLS = (
    # Virtual machines and containers.
    "multipass limactl lima colima podman-machine distrobox toolbox toolbx apptainer singularity "
    "buildah skopeo crane gcrane regctl reg oras nerdctl ctr crictl ctr-remote "
    "img kaniko-warmer udocker "
    "charliecloud ch-image enroot docker-machine docker-app vagrant quickemu vmctl bhyvectl vm "
    "iocage bastille jail pot ezjail-admin cbsd runj krunvm firectl ignite flintlock kata-runtime "
    "runc crun youki nspawn-vault mkosi rkt "
    # Local clusters for development.
    "kind k3d minikube ctlptl tilt skaffold devspace okteto telepresence garden ddev lando docksal "
    "devcontainer devpod gitpod coder dagger earthly werf kapp ytt vcluster loft "
    # Backups.
    "restic rustic borg borgmatic borgbackup obnam duplicity duplicacy kopia bup attic bupstash "
    "tarsnap timeshift snapper backintime rdiff-backup rsnapshot rsnapshot-diff dirvish amrecover "
    "wal-g wal-e pgbackrest barman velero stash kanister zfs-auto-snapshot sanoid syncoid "
    "proxmox-backup-client proxmox-backup-manager vzdump veeamconfig bconsole "
    "burp urbackupclientctl "
    "duply deja-dup vorta autorestic resticprofile btrbk snapraid zbackup "
    "hashbackup hb mylvmbackup "
    "automysqlbackup cyberduck duck arq kopiaui storj uplink "
    # Platforms and clouds.
    "maas juju exo civo hcloud scw doctl linode-cli vultr-cli upctl brightbox katapult gridscale "
    "ionosctl ovhai otc yc oci bx ibmcloud ic openstack nova cinder glance neutron heat "
    "openstack-cli ptcloud aliyun tccli hwcloud jdc ucloud cs cloudmonkey cmk onecloud fuel "
    "dokku caprover piku gigalixir clever scalingo qovery northflank koyeb render zeabur "
    "porter cf cf7 cf8 eb copilot sam sst "
    "serverless sls amplify cdk cdktf cdk8s up apex chalice zappa architect arc "
    "wrangler fastly akamai bunny ntl layer0 edgio cloudflared flarectl "
    "cloudflare dnscontrol octodns "
    "supabase appwrite nhost hasura convex neonctl neon turso pscale planetscale xata "
    "mongocli atlas confluent ccloud aiven avn upstash temporal tctl databricks dapr snowsql "
    "astro astronomer prefect dagster airflow argo argocd flux kn tkn oc rosa ocm osdctl odo "
    "rancher rke rke2 k0sctl kops kubespray eksctl gardenctl talosctl clusterctl capi-ctl "
    "kubeadm k0s k3sup microk8s linkerd istioctl cilium consul-k8s calicoctl kubectl-delete "
    "carvel tanzu tkgi pks bosh cfcr osism kolla-ansible "
    "gitlab-runner gitlab-rails act_runner buildkite-agent bk circleci drone woodpecker-cli travis "
    "appcenter codemagic bitrise jfrog jf nexus3 artifactory cloudsmith packagecloud gemfury "
    "hut berg acli jira trello clickup notion linear asana todoist "
    "auth0 okta keycloak kcadm fga workos clerk stytch "
    "sentry-cli datadog-ci dog newrelic nr grafana-cli grafanactl grr promtool "
    "cortextool mimirtool "
    "loki logcli honeycomb pd pagerduty opsgenie squadcast uptimerobot statuspage "
    "ceph rbd rados radosgw-admin cephfs-shell gluster lxd vastool weka mmlsfs qumulo purecli "
    "iscsiadm targetcli tgtadm tgt-admin scstadmin nvmetcli nvmet "
    "mc mcli s3cmd s4cmd s5cmd gsutil aws-s3 azcopy b2 s3 minio-client ossutil coscmd qshell "
    "hdfs-cli alluxio lakectl pachctl "
    "tailscale headscale zerotier-cli netbird nebula-cert wgctrl cloudflared boundary teleport tsh "
    "stripe twilio sendgrid mailgun postmark shopify algolia contentful sanity strapi prismic "
    "ipfs ipfs-cluster-ctl "
)
_SERVERS = (
    "govc esxcli vim-cmd prlctl xl xm xe virsh virt-manager qm pct pvesm pvecm "
    "pvesh pveum ha-manager "
    "pveceph VBoxManage vboxmanage vmrun vmware-vim-cmd lxc incus lxd "
    "machinectl vzctl prlsrvctl onevm "
    "onehost oneimage onetemplate onevnet onedatastore oneuser onecluster lxc-ctl "
    "stratis vdo vdostats multipath mpathadm zpool zfs btrfs bcachefs lvm "
    "drbdadm drbdsetup linstor gluster targetcli fcoeadm k3s-ctl kubelet-ctl docker-ctl"
)
_ROWS: Rows = {
    "lxc-destroy lxc-snapshot-destroy lxc-stop lxc-freeze k3s-uninstall.sh "
    "k3s-agent-uninstall.sh k3s-killall.sh "
    "rke2-uninstall.sh rke2-killall.sh k0s-uninstall virt-undefine vm-delete": (
        Shape(unless=_HELP),
    ),
    "lxc-snapshot": (Shape(having=r"^(?:-d|--destroy|-r|--restore)"),),
    "virt-rescue virt-resize virt-sysprep virt-sparsify virt-customize virt-edit guestfish": (
        Shape(
            unless=_TRIES + r"|^(?:--ro|-r|--list-operations|--machine-readable)$",
            having=r"\S",
            why="changes the disk of a virtual machine",
        ),
    ),
    "qemu-img": (
        Shape(
            r"(?:resize|commit|rebase|amend|snapshot|bitmap|dd)\b",
            having=r"^(?:resize|commit|rebase|amend|dd|-d|-a|--remove|--clear|--shrink)$",
        ),
        Shape(r"snapshot\b", having=r"^-\w*d"),
    ),
    "qemu-nbd": (Shape(having=r"^(?:-d|--disconnect)"),),
    "virsh": (
        Shape(
            r"(?:destroy|undefine|\S+-(?:delete|undefine|destroy|wipe|revert)|shutdown|"
            r"reboot|reset|managedsave-remove|"
            r"vol-(?:wipe|resize)|snapshot-revert|blockcommit|blockpull|detach-\S+|"
            r"suspend|restore|save\b|pool-stop|net-destroy|"
            r"migrate|setmem|setvcpus|send-key|qemu-monitor-command|nodedev-detach|"
            r"iface-\S+|nwfilter-undefine|secret-undefine|checkpoint-delete|"
            r"dompmsuspend|crash|inject-nmi)\b",
            valued="c -connect",
        ),
    ),
    "vboxmanage VBoxManage": (
        Shape(
            r"(?:unregistervm|closemedium|controlvm \S+ (?:poweroff|reset|"
            r"acpipowerbutton|savestate|pause)|discardstate|snapshot \S+ (?:delete|"
            r"restore)|"
            r"natnetwork (?:remove|stop)|dhcpserver remove|hostonlyif remove|extpack "
            r"(?:uninstall|cleanup)|usbfilter remove|sharedfolder remove|"
            r"storagectl \S+|storageattach|modifymedium|bandwidthctl \S+ remove|cloud "
            r"instance (?:terminate|delete)|guestcontrol \S+ (?:rm|rmdir|mv|removedir|"
            r"removefile|closeprocess|closesession)|guestproperty delete|setproperty)\b",
            having=r"^(?:unregistervm|closemedium|poweroff|reset|acpipowerbutton|savestate|"
            r"pause|discardstate|delete|restore|remove|stop|uninstall|cleanup|--remove|"
            r"--delete|--compact|--resize\S*|terminate|rm|rmdir|removedir|removefile|"
            r"none|closeprocess|setproperty)$",
        ),
    ),
    "vmadm zoneadm zonecfg": (
        Shape(
            r"(?:\S+ )?(?:delete|stop|reboot|kill|uninstall|halt|detach|destroy|"
            r"shutdown|rollback-snapshot|delete-snapshot)\b",
            valued="z",
        ),
    ),
    "esxcli vim-cmd": (
        Shape(
            r"(?:\S+ ){0,5}(?:remove|delete|kill|shutdown|poweroff|reboot|unmount|"
            r"format|erase|uninstall|reset|destroy|unset|unmap|detach|disconnect|"
            r"suspend|enter)\b"
        ),
        Shape(
            r"(?:vmsvc|hostsvc|solo|vsan)/(?:\S*/)?(?:destroy|unregister|power\.(?:off|"
            r"reset|shutdown|suspend|reboot)|snapshot\.(?:remove\w*|revert)|"
            r"maintenance_mode_enter|reset\w*|datastore/destroy|remove\w*|delete\w*)\b"
        ),
    ),
    "govc": (
        Shape(
            r"\S+\.(?:destroy|rm|remove|delete|reset|erase|unregister|disconnect|"
            r"shutdown|enter|revert|power|kill|unmount|clear|detach|expire|drop|restart|"
            r"cancel|change\.secure)\b",
            having=r"^\S+\.(?!power$)\S+$|^-(?:off|reset|reboot|suspend|s|r|force)$",
        ),
        Shape(r"guest\.(?:rm|rmdir|kill|run|mv)\b"),
    ),
    "xl xm": (
        Shape(
            r"(?:destroy|shutdown|reboot|pause|save|reset|mem-set|vcpu-set|"
            r"network-detach|block-detach|pci-detach|pci-assignable-\S+|cpupool-destroy|"
            r"cd-eject|rename|migrate|usbdev-detach|psr-\S*unset)\b"
        ),
    ),
    "qm pct pvesm pvecm pveum ha-manager pveceph pvesr": (
        Shape(
            r"(?:\S+ )?(?:destroy|stop|shutdown|reset|rollback|delsnapshot|free|remove|"
            r"delete|suspend|unlink|disk (?:unlink|resize|move)|del|delnode|purge|"
            r"unlock|cleanup|prune-backups|template|kill|reboot|mon destroy|osd destroy|"
            r"pool destroy|fs destroy|migrate|move_disk|resize|user delete|acl delete|"
            r"relocate)\b"
        ),
    ),
    "pvesh": (Shape(r"(?:delete|set|create)\b"),),
    "vzdump": (Shape(having=r"^--(?:remove|prune-backups|stop|stopwait)(?:=|$)"),),
    "proxmox-backup-client proxmox-backup-manager": (
        Shape(
            r"(?:\S+ )?(?:forget|prune|delete|remove|unprotect|garbage-collection start|"
            r"change-owner|wipe|initialize|destroy|key (?:change-passphrase))\b"
        ),
    ),
    "vdo": (Shape(r"(?:remove|stop|deactivate|disable\w*|change\w*|create)\b", unless=_HELP),),
    "vgcfgrestore lvresize lvreduce vgreduce pvmove vgsplit vgmerge vgrename "
    "lvrename lvconvert lvchange vgchange pvchange vgexport pvresize dmstats "
    "lvmpolld lvextend pvcreate vgcreate lvcreate vgextend": (
        Shape(unless=r"^(?:-t|--test)$|" + _HELP, having=r"\S", why="changes volumes"),
    ),
    "dmsetup": (
        Shape(
            r"(?:remove\w*|wipe_table|suspend|clear|create|load|reload|rename|message|"
            r"mangle|setgeometry|udevcomplete_all)\b"
        ),
    ),
    "multipath": (Shape(having=r"^-\w*[fFwWr]\w*$"),),
    "multipathd": (
        Shape(having=r"\b(?:del|remove|suspend|disable\w*|reset|fail|shutdown|forcequeueing)\b"),
    ),
    "mdadm": (
        Shape(
            having=r"^--(?:stop|zero-superblock|remove|fail|set-faulty|create|grow|build|add|"
            r"re-add|replace|readonly|kill-subarray|update\S*|wait-clean|action\S*)(?:=|"
            r"$)|^-\w*[SfrCGB]\w*$",
            unless=r"^(?:--detail|-D|--examine|-E|--query|-Q|--detail-platform|"
            r"--examine-bitmap|-X)$|" + _HELP,
        ),
    ),
    "zpool": (
        Shape(
            r"(?:destroy|labelclear|remove|detach|offline|export|replace|split|clear|"
            r"initialize|reguid|upgrade|set|attach|add|create|import|checkpoint)\b",
            unless=r"^-\w*n\w*$",
        ),
    ),
    "zfs": (
        Shape(
            r"(?:destroy|rollback|unmount|umount|unshare|rename|promote|release|set|"
            r"inherit|receive|recv|unload-key|change-key|unallow|allow|upgrade|project|"
            r"unjail)\b",
            unless=r"^-\w*n\w*$",
        ),
    ),
    "btrfs": (
        Shape(
            r"(?:subvolume|su|sub|subvol) (?:delete|del|d|set-default)\b|(?:device|dev) "
            r"(?:delete|remove|add|rem)\b|(?:balance|replace|filesystem|fi|rescue|check|"
            r"quota|qgroup|property|scrub|restore) (?:start|resize|destroy|remove|limit|"
            r"disable|set|zero-log|chunk-recover|super-recover|cancel|label|clear\S*|"
            r"fix-\S+|create-control-device)\b",
            having=r"^(?:delete|del|d|set-default|remove|rem|add|resize|destroy|limit|disable|"
            r"zero-log|chunk-recover|super-recover|clear\S*|fix-\S+)$|"
            r"^(?:balance\nstart|replace\nstart|property\nset)$",
        ),
        Shape(r"check\b", having=r"^--(?:repair|init-\S+|clear-space-cache)"),
    ),
    "bcachefs": (
        Shape(
            r"(?:format|device (?:remove|evacuate|offline|set-state|resize)|subvolume "
            r"delete|fsck|remove-passphrase|set-passphrase|data (?:job|rereplicate)|"
            r"reset-counters|set-option|migrate\S*)\b",
            unless=r"^-n$",
        ),
    ),
    "make-bcache wipe-bcache": (Shape(unless=_HELP),),
    "xfs_db xfs_admin xfs_growfs xfs_fsr xfs_io xfs_copy xfs_quota xfs_mdrestore": (
        Shape(
            having=r"^-(?:x|j|e|L\S*|U\S*|c\n(?:write|truncate|pwrite|punch|fpunch|fzero|limit|"
            r"disable|off|remove|restore).*)",
            unless=_HELP,
        ),
    ),
    "exportfs": (Shape(having=r"^-\w*[uaroif]", unless=r"^-\w*[sv]$"),),
    "iscsiadm": (
        Shape(
            having=r"^(?:-u|--logout|-o\n(?:delete|update|new)|--op(?:=|\n)(?:delete|update|"
            r"new))$|^--logoutall"
        ),
    ),
    "targetcli": (
        Shape(having=r"\b(?:delete|clearconfig|restoreconfig|set|create|disable|detach)\b"),
    ),
    "ceph": (
        Shape(
            r"(?:(?:osd|mds|mon|mgr|fs|auth|config|config-key|pg|orch|crash|nfs|device|"
            r"quorum|rbd|tell|daemon|telemetry|smb|balancer|dashboard)\b.* ?(?:rm|"
            r"remove|delete|del|destroy|purge|out|down|fail|lost|stop|drain|set|unset|"
            r"reweight\S*|repair|force\S*|reset|caps|zap|disable|exit|prune|blocklist|"
            r"blacklist|pause|erase|flush|apply|add))\b",
            unless=r"^(?:ls|list|dump|get|show|stat|status|df|tree|perf|metadata|-s|--help|-h|"
            r"versions|info|help)$",
        ),
    ),
    "cephadm": (Shape(r"(?:rm-cluster|rm-daemon|rm-repo|zap-osds|bootstrap|adopt|unit|deploy)\b"),),
    "ceph-volume": (
        Shape(
            r"(?:lvm|raw|simple) (?:zap|deactivate|batch|create|prepare|migrate)\b",
            unless=r"^--(?:report|help)$|^-h$",
        ),
    ),
    "ceph-authtool ceph-objectstore-tool ceph-bluestore-tool ceph-kvstore-tool "
    "ceph-monstore-tool monmaptool osdmaptool crushtool": (
        Shape(
            having=r"^(?:rm|remove|destr\S*|--(?:op(?:=|\n)(?:remove|import|export-remove|"
            r"mark-complete|fix-lost|trim-pg-log|rm-past-intervals|set-\S+|clear-\S+)|"
            r"force|rm|clobber|destructive-repair\S*)|repair|rewrite-crush|"
            r"destructive-repair)(?:$|\n)"
        ),
    ),
    "rbd": (
        Shape(
            r"(?:(?:snap|snapshot|image|trash|mirror|pool|group|migration|namespace|"
            r"lock|journal|feature|watch|image-meta|config|object-map|device)? ?(?:rm|"
            r"remove|purge|rollback|rollback-to|unprotect|disable|mv|move|abort|flatten|"
            r"resize|revert|demote|reset|unmap|detach|shrink|clear|del|delete|force))\b",
            having=r"^(?!resize$|--no-progress$)",
            unless=r"^(?:ls|list|info|du|status)$",
        ),
    ),
    "rados": (
        Shape(
            r"(?:rm|rmpool|purge|truncate|rmxattr|clearomap|rmomapkey|rollback|rmsnap|"
            r"lock break|put|setxattr|cache-flush-evict-all|cleanup)\b",
            valued="p n N c",
        ),
    ),
    "radosgw-admin": (
        Shape(
            r"(?:\S+ )?(?:rm|remove|delete|suspend|unlink|purge|trim|process|"
            r"stale-instances|reset|disable|clear)\b"
        ),
    ),
    "gluster": (
        Shape(
            r"(?:volume|peer|snapshot|pool|nfs-ganesha|bitrot|quota|system::)? ?(?:\S+ "
            r")?(?:delete|stop|remove-brick|detach|reset|deactivate|disable|restore|"
            r"clear-locks|replace-brick|reset-brick|quota \S+ remove|set|barrier)\b"
        ),
    ),
    "drbdadm drbdsetup": (
        Shape(
            r"(?:down|detach|disconnect|invalidate\S*|create-md|wipe-md|primary|"
            r"secondary|outdate|forget-peer|del-\S+|new-current-uuid|suspend-io|resize|"
            r"adjust)\b",
            unless=r"^(?:-d|--dry-run)$",
        ),
    ),
    "restic rustic": (
        Shape(
            r"(?:forget|prune|key (?:remove|passwd)|repair|rewrite|migrate|tag|unlock)\b",
            valued="r p o -repo -password-file -tag -host",
            unless=r"^(?:-n|--dry-run)$",
            having=r"^(?:forget|prune|remove|repair|rewrite|migrate|passwd)$",
        ),
    ),
    "borg borg1 borg2 borgmatic": (
        Shape(
            r"(?:delete|prune|recreate|compact|repo-delete|rdelete|break-lock|key "
            r"(?:change-passphrase|change-location|import)|check|repo-compress|borg "
            r"(?:delete|prune|recreate|compact|break-lock))\b",
            unless=r"^(?:-n|--dry-run)$",
            having=r"^(?:delete|prune|recreate|compact|repo-delete|rdelete|break-lock|"
            r"change-\S+|--repair|repo-compress)$",
        ),
    ),
    "bup": (Shape(r"(?:gc|rm|prune-older)\b", unless=r"^(?:-n|--dry-run|--help)$"),),
    "tarsnap": (
        Shape(having=r"^-\w*d\w*$|^--(?:nuke|fsck-prune|fsck|recover)$", unless=r"^--dry-run$"),
    ),
    "rdiff-backup": (
        Shape(
            having=r"^--(?:remove-\S+|force)$|^(?:remove|regress)$", unless=r"^(?:--list\S*|list)$"
        ),
    ),
    "timeshift": (Shape(having=r"^--(?:delete\S*|restore)$"),),
    "snapper": (
        Shape(
            r"(?:delete|remove|rm|del|delete-config|undochange|rollback|cleanup|modify)\b",
            valued="c -config",
        ),
    ),
    "backintime": (
        Shape(
            r"(?:remove\S*|restore|smart-remove|shutdown|unmount)\b",
            valued="-profile -profile-id -config",
        ),
    ),
    "duplicity duply": (
        Shape(
            r"(?:\S+ )?(?:remove-\S+|cleanup|purge\S*|purgeAuto|purgeIncr|purgeFull)",
            unless=r"^--dry-run$",
        ),
    ),
    "rsnapshot": (Shape(having=r"^rollback$"),),
    "snapraid": (Shape(r"(?:fix|rehash)\b"),),
    "btrbk": (Shape(r"(?:clean|prune|archive)\b", unless=r"^(?:-n|--dry-run)$"),),
    "bconsole": (Shape(having=r"\b(?:delete|purge|prune|truncate|label|relabel|cancel)\b"),),
    "maas": (Shape(r"\S+ \S+ (?:release|abort|power-off|mark-broken)\b"),),
    "kubeadm": (
        Shape(r"(?:reset|token delete|certs renew|upgrade apply)\b", unless=r"^--dry-run$"),
    ),
    "k0s k0sctl microk8s rke rke2 k3sup": (
        Shape(
            r"(?:reset|stop|remove(?:-node)?|leave|kubectl delete|disable|uninstall|"
            r"etcd leave|kill|etcd snapshot-restore|secrets-encrypt|restore|token "
            r"invalidate|down)\b"
        ),
    ),
    "talosctl": (
        Shape(
            r"(?:reset|shutdown|reboot|wipe|etcd (?:leave|remove-member|"
            r"forfeit-leadership|recover)|cluster destroy|upgrade\S*|rollback|bootstrap|"
            r"apply-config|patch|edit|delete|service \S+ (?:stop)|meta|rotate-ca|image "
            r"remove)\b",
            valued="n e -nodes -endpoints -talosconfig -context",
            unless=r"^--dry-run$",
        ),
    ),
    "clusterctl": (Shape(r"(?:delete|move|upgrade apply|alpha (?:rollout|delete)\S*)\b"),),
    "hetzner-kube doks": (Shape(r"(?:\S+ )?delete\b"),),
}


def _k9s(call: CommandCall) -> Iterator[Answer]:
    """Handle `talosctl`, `k3s kubectl words`: another program's words."""
    words = options(call.args, "n").rest
    if words[:1] == ["kubectl"] and len(words) > 1:
        yield run(words)


RULES: RuleTable = together(
    table(_TOOLS, _REMOVED),
    table(_SERVERS, _STOPPED),
    shaped("volume", "deletes, changes or stops machines, volumes or backups", _ROWS),
    table("k0s rke2", _k9s),
)
