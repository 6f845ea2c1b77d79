"""Which lines of the contract no test proves yet, and the subject under which each is worked on."""

_BY_SUBJECT = {
    "agents": "SYS-04 D-27",
    "undo of commands": "FTG-5 WB-16 WB-17 WB-18 WB-19",
    "previews": "WB-12",
    "credentials": "WB-13 WB-14 WB-15",
    "places": "WB-20",
    "benchmark of the egress proxy": "WB-02 WB-10",
}

OPEN: dict[str, str] = {id_: subject for subject, ids in _BY_SUBJECT.items() for id_ in ids.split()}

# Proven by a test as far as the product goes: what a line asks for besides waits for a feature.
PARTLY: dict[str, str] = {
    "REG-23": "there is no source named mcp yet; builtin, plugin and external are real",
    "D-22": "there is no source named mcp yet; builtin, plugin and external are real",
    "SHL-03": "PowerShell itself is in no package; a program in its place gets every byte",
    "WB-21": "the cache is persistent and bounded; the home ends with the service",
    "TST-01": "MCPClientTool is the one tool of the list that is missing",
}
