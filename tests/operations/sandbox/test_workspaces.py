"""What a workspace is opened with reaches its programs."""

from __future__ import annotations

from pathlib import Path

from app.core.host_rules import HostRules
from app.operations.sandbox.config import NO_NETWORK, Network
from app.operations.sandbox.processes import SandboxedProcesses
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspaces


def network_of(root: Path, sandbox: Sandbox, *hosts: str) -> Network:
    operations = SandboxedWorkspaces(sandbox).open(root, allowed_hosts=hosts)
    assert isinstance(operations.processes, SandboxedProcesses)
    return operations.processes._network


async def test_a_workspace_carries_the_rules_of_its_allowed_hosts(tmp_path: Path):
    async with Sandbox() as sandbox:
        network = network_of(tmp_path, sandbox, "github.com:22,443", "preset:go")
        assert (network.tcp_ports, network.udp) == ((), False)
        assert network.hosts == HostRules.of(["github.com:22,443", "preset:go"])
        assert network.hosts.allow("proxy.golang.org", 443)
        assert network_of(tmp_path, sandbox) == NO_NETWORK
