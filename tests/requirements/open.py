"""Which lines of the contract no test proves yet, and the subject under which each is worked on."""

_BY_SUBJECT = {
    "agents": """
        CTX-03 CTX-11 SUB-01 SUB-02 SUB-03 SUB-04 SUB-05 SUB-06 SUB-07 SUB-08 SUB-09 SUB-10
        SUB-11 SUB-12 SUB-13 SUB-14 SUB-15 COL-01 COL-02 SYS-04 SQL-09
        B-04 B-18 B-23 D-9 D-10 D-11 D-12 D-13 D-14 D-27
    """,
    "browser": "EVT-06 UI-01 UI-02 UI-03 UI-04 UI-05",
    "later": "FS-01 FS-02 FS-03 MAP-01 DOC-01 TST-01",
}

OPEN: dict[str, str] = {id_: subject for subject, ids in _BY_SUBJECT.items() for id_ in ids.split()}
