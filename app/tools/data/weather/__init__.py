"""Where the weather comes from: providers behind one protocol."""
