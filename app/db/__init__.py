"""Engine, ledger and tables: how state is kept."""
