"""The SQL guard: which statements may reach a database, and in which words. Pure code: no I/O."""
