"""Model clients behind one protocol; the only package that imports an LLM SDK."""
