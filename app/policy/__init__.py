"""Pure rules without I/O: decisions and risk."""
