"""Clouds, clusters, infrastructure as code, hosting and forges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    Answer,
    CommandCall,
    RuleTable,
    ask,
    options,
    run,
    script,
    table,
    unresolved_verb,
)

_LOSSY_VERB = re.compile(
    r"(?:[\w-]+-)?(?:delete|destroy|terminate|remove|purge|deregister|revoke|reset|uninstall|"
    r"drain|wipe|undefine|leave|unregistervm)(?:-.*)?$"
)


def _terraform(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "", clusters=False)
    words = given.rest
    if given.has("-help", "--help", "-h"):
        return
    runs_all = words[:1] == ["run-all"] or (words[:1] == ["run"] and call.name == "terragrunt")
    verb = words[1] if runs_all and len(words) > 1 else (words[0] if words else "")
    if verb.startswith("destroy") or (given.has("-destroy", "--destroy") and verb == "apply"):
        yield ask("infra_destroy", "destroys infrastructure")
    elif verb in {"apply", "run-all"} and given.has(
        "-auto-approve", "--auto-approve", "--terragrunt-non-interactive"
    ):
        yield ask("infra_apply", "changes infrastructure without showing the plan")
    elif words[:2] in (["state", "rm"], ["workspace", "delete"], ["state", "push"]) or verb in {
        "taint",
        "force-unlock",
    }:
        yield ask("infra_state", "changes the recorded state of infrastructure")


def _aws(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "-profile -region -output -query -endpoint-url -cli-binary-format -ca-bundle -color",
    )
    words = given.rest
    if given.has("--dryrun", "--dry-run"):
        return
    service, verb = (words[0] if words else ""), (words[1] if len(words) > 1 else "")
    lossy_s3 = verb in {"rm", "rb"} or (verb == "sync" and "--delete" in call.args)
    if (
        (service == "s3" and lossy_s3)
        or _LOSSY_VERB.match(verb)
        or re.match(r"(?:stop|disable|detach|release|schedule-key|change-resource-record)-", verb)
    ):
        yield ask("cloud_delete", f"aws {service} {verb} deletes or stops resources")
    elif verb.startswith("attach-") and any("AdministratorAccess" in arg for arg in call.args):
        yield ask("accounts", "makes an account an administrator of the cloud")
    elif verb in {"send-command", "start-session"} and "--parameters" in call.args:
        yield from _sent_command(call)
    elif re.search(r"--desired-c(?:ount|apacity)[= ]0(?: |$)", " ".join(call.args)):
        yield ask("cloud_delete", f"aws {service} {verb} stops all instances")


def _sent_command(call: CommandCall) -> Iterator[Answer]:
    """Handle `aws ssm send-command`: a shell script for other hosts, as JSON or as `commands=…`."""
    sent = options(call.args, "-parameters", clusters=False).value("--parameters") or ""
    found = re.search(r"commands\"?\s*[=:]\s*(.+)", sent, re.DOTALL)
    yield script(
        re.sub(r"^[\[\s\"']+|(?<![\]}\s\"'])[\]}\s\"']+$", "", found.group(1)) if found else None
    )


def _edge(call: CommandCall) -> Iterator[Answer]:
    yield from _verbs(call)
    given = options(call.args, "-command -file -config -env c e")
    if given.rest[:2] == ["d1", "execute"]:
        yield from (script(text, "sql") for text in given.all_values("--command"))


def _gsutil(call: CommandCall) -> Iterator[Answer]:
    yield from _verbs(call)
    words = options(call.args, "o h").rest
    if words[:1] == ["rsync"] and options(call.args, "o h").has("-d"):
        yield ask("cloud_delete", "gsutil rsync -d deletes what the source lacks")


def _verbs(call: CommandCall) -> Iterator[Answer]:
    """Handle tools of the form `tool noun… verb`: any word that is a destructive verb."""
    words = options(
        call.args, "n c p s a o -namespace -context -project -subscription -region -zone -format"
    ).rest
    if any(arg.startswith("--delete-unmatched") for arg in call.args):
        yield ask("cloud_delete", f"{call.name} deletes what the source lacks")
    for word in words[:4]:
        stops = word in {"stop", "deallocate"} and call.name in {"gcloud", "az"}
        if stops or _LOSSY_VERB.match(word) or word in {"rm", "del", "rb", "prune"}:
            yield ask("cloud_delete", f"{call.name} {word} deletes resources")
            return


def _kubectl(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "n c f l o s p -namespace -context -cluster -user -kubeconfig -container -server -token "
        "-replicas -output -filename -selector",
        stop=False,
    )
    words = given.rest
    verb = words[0] if words else ""
    if call.name in {"k3s", "microk8s", "minikube"}:
        if verb == "kubectl":
            yield run(["kubectl", *call.args[call.args.index("kubectl") + 1 :]])
        return
    yield from unresolved_verb(call, verb)
    runs_dry = "--dry-run" in given.flags and not {"--dry-run=none", "--dry-run=false"} & set(
        call.args
    )
    if runs_dry and verb != "exec":
        return
    yield from _cluster_powers(call, words)
    if call.name == "oc" and verb == "adm":
        verb, words = (words[1] if words[1:] else ""), words[1:]
    yield from _started_pod(call, words)
    scaled = verb == "scale" and "0" in given.all_values("--replicas")
    forced = verb in {"replace", "apply"} and given.has("--force", "--prune")
    rolled = words[:2] == ["rollout", "undo"]
    if verb in {"delete", "drain", "cordon", "taint"} or scaled or forced or rolled:
        yield ask("cluster_delete", f"kubectl {verb} removes or stops workloads")
    elif verb in {"exec", "rsh"}:
        yield from _after_dashes(call)
    elif verb == "config" and set(words[1:2]) & {
        "delete-context",
        "delete-cluster",
        "delete-user",
        "unset",
    }:
        yield ask("cluster_delete", "deletes cluster settings")


def _cluster_powers(call: CommandCall, words: list[str]) -> Iterator[Answer]:
    text = " ".join(call.args)
    if words[:1] == ["create"] and "cluster-admin" in text:
        yield ask("accounts", "makes an account an administrator of the cluster")
    elif words[:1] == ["patch"] and re.search(r"finalizers\"?\s*:\s*(?:null|\[\s*\])", text):
        yield ask("cluster_delete", "removes the protection of resources being deleted")
    elif words[:1] == ["run"] and (
        "--privileged" in text or re.search(r"host(?:PID|Path|IPC)", text)
    ):
        yield ask("host_access", "starts a pod with the permissions of its node")
    elif words[:2] == ["adm", "prune"]:
        yield ask("cluster_delete", "deletes cluster data")


def _started_pod(call: CommandCall, words: list[str]) -> Iterator[Answer]:
    if words[:1] not in (["run"], ["debug"]):
        return
    if any(word.startswith(("node/", "no/", "nodes/")) for word in words[1:2]):
        yield ask("host_access", "kubectl debug opens a shell on a node, with its files")
    if "--" in call.args:
        yield from _after_dashes(call)


def _after_dashes(call: CommandCall) -> Iterator[Answer]:
    if "--" in call.args:
        yield run(call.args[call.args.index("--") + 1 :], contained=True, stdin=call.stdin)
        return
    given = options(call.args, "n c s -namespace -context -container", stop=False)
    flat = given.rest[2:] if len(given.rest) > 2 else []
    if flat:
        at = call.args.index(flat[0])
        yield run(call.args[at:], contained=True, stdin=call.stdin)


def _helm(call: CommandCall) -> Iterator[Answer]:
    valued = "n -namespace -kube-context -kubeconfig"
    if call.name == "helmfile":
        valued += " e f l -environment -file -selector"
    words = options(call.args, valued).rest
    if (
        words[:1]
        and words[0] in {"uninstall", "delete", "del", "un", "rollback", "destroy"}
        and "--dry-run" not in call.args
    ):
        yield ask("cluster_delete", f"helm {words[0]} removes or reverts a release")


def _gh(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "R X f F H q t b B -repo -method -jq -title -body -field -raw-field -header -input",
    )
    words = given.rest
    if call.name == "hub" and words[:1] == ["delete"]:
        yield ask("forge_delete", "hub deletes a repository")
    method = (given.value("-X", "--method") or "").upper()
    if words[:1] == ["api"] and (
        method == "DELETE"
        or any(
            "delete" in v.lower() for v in given.all_values("-f", "-F") if v.startswith("query=")
        )
    ):
        yield ask("forge_delete", "deletes through the forge's API")
    elif (
        len(words) > 1
        and words[1] in {"delete", "archive", "remove", "delete-asset", "transfer"}
        and words[0] != "alias"
    ):
        yield ask("forge_delete", f"{call.name} {words[0]} {words[1]}")
    elif words[:2] == ["pr", "close"] and given.has("-d", "--delete-branch"):
        yield ask("forge_delete", "closes a request and deletes its branch")
    elif words[:2] == ["alias", "set"] and words[3:] and words[3].startswith("!"):
        yield script(words[3][1:])
    elif words[:2] == ["repo", "edit"] and "public" in (
        options(call.args, "-visibility").value("--visibility") or ""
    ):
        yield ask("publish", "makes the repository public")
    elif words[:2] == ["workflow", "disable"] or (call.name == "hub" and words[:1] == ["delete"]):
        yield ask("forge_delete", f"{call.name} {words[0]} removes something")
    elif words[:2] == ["pr", "merge"] and given.has("--admin"):
        yield ask("forge_force", "merges despite the branch rules")


def _hosting(call: CommandCall) -> Iterator[Answer]:
    text = " ".join(call.args)
    if re.search(
        r"(?:^|[\s:])(?:down|destroy|delete|remove|rm|reset|purge|disable|unset|stop)\b|"
        r"pg:(?:reset|killall)|sites:delete",
        text,
    ):
        yield ask("cloud_delete", f"{call.name} deletes resources")


def _pulumi(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "s C -stack -cwd").rest
    if words[:1] in (["destroy"], ["dn"], ["down"]) or words[:2] in (
        ["stack", "rm"],
        ["state", "delete"],
    ):
        yield ask("infra_destroy", "destroys infrastructure")
    elif words[:1] == ["up"] and options(call.args).has("-y", "--yes"):
        yield ask("infra_apply", "changes infrastructure without showing the plan")


def _storage(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "c o m r p -config -repo -repository-file -password-file").rest
    lossy = {
        "delete",
        "deletefile",
        "purge",
        "rmdir",
        "rmdirs",
        "cleanup",
        "rm",
        "del",
        "rb",
        "forget",
        "remove-all-but-n-full",
        "remove-older-than",
        "remove-all-inc-of-but-n-full",
        "prune",
        "sync",
        "move",
    }
    if words[:1] and words[0] in lossy and not options(call.args).has("-n", "--dry-run"):
        yield ask("cloud_delete", f"{call.name} {words[0]} deletes stored files")
    elif words[:1] and set(words[:2]) & {"rm", "rb", "del"}:
        yield ask("cloud_delete", f"{call.name} deletes stored files")


def _azcopy(call: CommandCall) -> Iterator[Answer]:
    yield from _verbs(call)
    if options(call.args).value("--delete-destination") in {"true", "prompt"}:
        yield ask("cloud_delete", "azcopy sync deletes what the source lacks")


RULES: RuleTable = {
    **table("terraform tofu terragrunt", _terraform),
    "aws": _aws,
    "awscli": _aws,
    **table(
        "gcloud az doctl ibmcloud oci linode-cli hcloud scw eksctl kind "
        "minikube k3d kops civo bx openstack exo aliyun "
        "tccli ossutil vagrant virsh lxc incus multipass limactl colima argocd flux "
        "istioctl machinectl cdktf amplify qm pct VBoxManage cdk aws-cdk sst serverless sls "
        "sam copilot eb fastly cf turso pscale rabbitmqadmin ctr vultr-cli",
        _verbs,
    ),
    "wrangler": _edge,
    "gsutil": _gsutil,
    "azcopy": _azcopy,
    **table("kubectl k oc microk8s.kubectl", _kubectl),
    **table("k3s microk8s", _kubectl),
    **table("helm helm3 helmfile", _helm),
    **table("gh glab hub tea", _gh),
    **table(
        "heroku flyctl fly vercel netlify railway render firebase firebase-tools surge now "
        "platform lightsail",
        _hosting,
    ),
    "pulumi": _pulumi,
    **table("rclone mc s3cmd s5cmd restic borg b2 duplicity kopia", _storage),
}
