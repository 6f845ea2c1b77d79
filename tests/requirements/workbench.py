"""A sandbox that people can work in: network by host, a home, undo."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement("WB-01", "users", "Without namespaces the network by host is off, and said to be."),
    Requirement("WB-02", "users", "A network by host adds little to the start of a command."),
    Requirement("WB-03", "users", "Common tools reach allowed hosts without variables."),
    Requirement("WB-04", "users", "A refusal ends soon and names host, port and setting."),
    Requirement(
        "WB-05", "users", "CONNECT, SOCKS and transparent connections reach no SSRF target."
    ),
    Requirement("WB-06", "users", "Server name, Host and wanted name agree."),
    Requirement("WB-07", "users", "A name that is not listed is never looked up outside."),
    Requirement("WB-08", "users", "A host is resolved once for all connections of a minute."),
    Requirement("WB-09", "users", "Every connection is a row, also of what was killed."),
    Requirement("WB-10", "users", "The proxy carries 500 MB/s and 200 connections at once."),
    Requirement("WB-11", "users", "The loopback of a session is private and free."),
    Requirement("WB-12", "users", "A server in the sandbox can be seen in a browser."),
    Requirement("WB-13", "users", "No secret is in the environment, files or arguments of a tree."),
    Requirement("WB-14", "users", "Credentials are added outside, for host, method and path."),
    Requirement("WB-15", "users", "The agent socket lists and signs, and nothing else."),
    Requirement("WB-16", "users", "Undo of a command leaves an identical tree."),
    Requirement("WB-17", "users", "Checkpoints cost nothing where nothing is written."),
    Requirement("WB-18", "users", "No race loses a pre-image or opens anything outside."),
    Requirement("WB-19", "users", "Only what can be undone whole asks less."),
    Requirement("WB-20", "users", "Sockets of the machine with a path cannot be reached."),
    Requirement("WB-21", "users", "A full home says so, and a cache belongs to one project."),
)
