"""Which lines of the contract no test proves yet, and the subject under which each is worked on."""

_BY_SUBJECT = {
    "agents": "SYS-04 D-27",
    "later": "TST-01",
}

OPEN: dict[str, str] = {id_: subject for subject, ids in _BY_SUBJECT.items() for id_ in ids.split()}
