"""Facts about sessions: models, the append-only log, fan-out and replay."""
