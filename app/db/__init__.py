"""Engine, writer and tables: how state is kept."""
