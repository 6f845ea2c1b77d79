"""Container engines: deletions, executed commands, and host access."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    Answer,
    CommandCall,
    Options,
    Payload,
    RuleTable,
    ask,
    names,
    options,
    run,
    table,
    unresolved_verb,
)
from app.policy.risk.paths import reading, writing

_ENGINE = "H c l -host -context -config -log-level -url -connection -namespace n"
_COMPOSE = "f p -file -project-name -profile -env-file -project-directory -ansi"
_RUN = (
    "a e h l m p u v w c -name -env -env-file -volume -mount -user -workdir "
    "-entrypoint -network -net -publish -label -memory "
    "-cpus -hostname -platform -gpus -add-host -cap-add -cap-drop -device -ip -link "
    "-log-driver -log-opt -pid -ipc -uts -userns "
    "-restart -runtime -security-opt -shm-size -stop-signal -sysctl -tmpfs -ulimit "
    "-volumes-from -pull -expose -dns -cgroupns "
    "-cidfile -label-file -network-alias -mac-address -group-add -detach-keys -index"
)
_LOSSY = frozenset(
    names(
        "rm rmi prune container:rm container:prune image:rm image:prune volume:rm "
        "volume:prune network:rm network:prune system:prune builder:prune "
        "buildx:prune buildx:rm context:rm swarm:leave stack:rm stack:down service:rm "
        "secret:rm config:rm node:rm plugin:rm pod:rm pod:prune machine:rm "
        "system:reset kube:down container:remove image:remove volume:remove network:remove "
        "manifest:rm builder:rm trust:revoke model:rm"
    )
)


def _docker(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, _ENGINE, stop=True)
    words = given.rest
    if not words:
        return
    verb = words[0]
    yield from unresolved_verb(call, verb)
    pair = f"{verb}:{words[1]}" if len(words) > 1 else ""
    if verb == "compose":
        yield from _compose(call, words[1:])
    elif verb in _LOSSY or pair in _LOSSY:
        yield ask("container_delete", f"{call.name} {verb} deletes containers, images or volumes")
    elif verb == "cp" or pair == "container:cp":
        yield from _copied(call, options(words).rest)
    elif verb == "unshare":
        yield run(options(words[1:], stop=True).rest)
    elif verb in {"run", "exec", "create"} or pair in {
        "container:run",
        "container:exec",
        "container:create",
    }:
        yield from _container(call, words[1:] if verb in {"run", "exec", "create"} else words[2:])


def _copied(call: CommandCall, words: list[str]) -> Iterator[Answer]:
    """Handle `docker cp container:path path`: a name with a colon belongs to the container."""
    target = words[-1]
    if ":" not in target and target != "-":
        yield from writing(call.at(target), call.home)
    for source in words[:-1]:
        if ":" not in source:
            yield from reading(call.at(source), call.home)


def _container(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, _RUN, stop=True)
    yield from _host_access(call, given)
    entry = given.value("--entrypoint")
    inner = ([entry] if entry else []) + given.rest[1:]
    if inner and not (entry is None and inner[0].startswith("-")):
        yield run(inner, contained=True, stdin=call.stdin)
    if entry is None and inner and (image := _IMAGE.match(given.rest[0])):
        # An image of a single program takes its words: `docker run bitnami/kubectl delete ns x`.
        program = _NAMED_OTHERWISE.get(image["name"], image["name"])
        yield Payload("tool", (program, *inner), contained=True, stdin=call.stdin)


_IMAGE = re.compile(r"(?:[\w.:-]+/)*(?P<name>[\w.-]+?)(?::[\w.-]+)?(?:@[\w:]+)?$")
_NAMED_OTHERWISE = {"aws-cli": "aws", "google-cloud-sdk": "gcloud", "azure-cli": "az"}


_SOCKETS = ("docker.sock", "containerd.sock", "podman.sock")
_HOST_FOLDERS = frozenset(
    names("/ /etc /root /home /usr /var /boot /dev /proc /sys /var/lib /var/run /run /opt /srv")
)


def _is_hosts(path: str, home: str) -> bool:
    return path in _HOST_FOLDERS or path == home or path.endswith(_SOCKETS)


def _host_access(call: CommandCall, given: Options) -> Iterator[Answer]:
    mounts = [value.split(":", 1)[0] for value in given.all_values("-v", "--volume")]
    mounts += [
        match.group(1)
        for value in given.all_values("--mount")
        if (match := re.search(r"(?:source|src)=([^,]*)", value))
    ]
    paths = [call.at(mount) for mount in mounts if mount.startswith(("/", "~", "."))]
    if any(_is_hosts(path, call.home) for path in paths):
        yield ask("host_access", "gives the container the host's files")
    for path in paths:
        yield from reading(path, call.home)
        yield from writing(path, call.home)
    if given.has("--privileged") or given.all_values("--device"):
        yield ask("host_access", "gives the container the host's devices")
    if any("unconfined" in value for value in given.all_values("--security-opt")):
        yield ask("host_access", "removes the container's confinement")
    if "host" in given.all_values("--pid", "--ipc", "--userns", "--uts") or set(
        given.all_values("--cap-add")
    ) & {"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"}:
        yield ask("host_access", "removes the container's isolation")


def _compose(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, _COMPOSE, stop=True)
    if not given.rest:
        return
    verb, rest = given.rest[0], given.rest[1:]
    inner = options(rest, "t -timeout -rmi -scale", stop=False)
    if verb == "rm" or (verb == "down" and (inner.has("-v", "--volumes") or inner.value("--rmi"))):
        yield ask("container_delete", f"compose {verb} deletes containers or volumes")
    elif verb in {"run", "exec"}:
        yield from _container(call, rest)


def _compose_v1(call: CommandCall) -> Iterator[Answer]:
    yield from _compose(call, call.args)


def _attach(call: CommandCall) -> Iterator[Answer]:
    """Handle lxc exec c -- cmd, multipass exec, distrobox enter, toolbox run, wsl."""
    if "--" in call.args:
        yield run(call.args[call.args.index("--") + 1 :], contained=call.name != "wsl")
    elif call.args[:1] in (["exec"], ["run"]):
        rest = options(call.args[1:], "c u d", stop=True).rest
        yield run(rest[1:] if call.name != "toolbox" else rest, contained=True)
    elif call.name == "wsl":
        yield run(options(call.args, "d u -distribution -user -cd", stop=True).rest)


def _runtime(call: CommandCall) -> Iterator[Answer]:
    yield from _docker(call)
    words = options(call.args, "n a r i t -namespace -address", stop=True).rest
    if set(words[:2]) & {"rm", "remove", "rmp", "rmi", "delete", "del", "prune", "stopp"}:
        yield ask("container_delete", f"{call.name} deletes containers, images or volumes")


RULES: RuleTable = {
    **table("docker podman nerdctl docker.io", _docker),
    **table("docker-compose podman-compose", _compose_v1),
    **table("lxc incus multipass distrobox toolbox wsl", _attach),
    **table("crictl ctr", _runtime),
}
