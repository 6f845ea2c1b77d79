"""Which lines of the contract no test proves yet, and the subject under which each is worked on."""

_BY_SUBJECT = {
    "knowledge": """
        REG-18 WEB-01 WEB-02 WEB-03 WEB-04 WEB-05 DAT-02 DAT-03 WTH-01
        SKL-01 SKL-02 SKL-03 SKL-04 MEM-01 MEM-02 IMG-01
        SQL-01 SQL-02 SQL-03 SQL-04 SQL-05 SQL-06 SQL-07 SQL-08 SQL-09 SQL-10 SQL-11
        EVT-07 EVT-08 B-06 B-07 B-27 B-28 D-15 D-16 D-17 D-28 D-30
    """,
    "agents": """
        CTX-03 CTX-11 SUB-01 SUB-02 SUB-03 SUB-04 SUB-05 SUB-06 SUB-07 SUB-08 SUB-09 SUB-10
        SUB-11 SUB-12 SUB-13 SUB-14 SUB-15 COL-01 COL-02 SYS-01 SYS-03 SYS-04 SYS-05
        INT-01 TOD-01 B-04 B-08 B-18 B-23 B-29 B-32
        D-9 D-10 D-11 D-12 D-13 D-14 D-23 D-27 D-29
    """,
    "browser": "EVT-06 UI-01 UI-02 UI-03 UI-04 UI-05",
    "later": """
        LGY-01 WXD-01 WXD-02 WXD-03 WXD-04 WXD-05 WXD-06 WXD-07
        FS-01 FS-02 FS-03 MAP-01 DOC-01 TST-01
    """,
}

OPEN: dict[str, str] = {id_: subject for subject, ids in _BY_SUBJECT.items() for id_ in ids.split()}
