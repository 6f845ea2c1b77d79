"""Weather providers behind one protocol."""
