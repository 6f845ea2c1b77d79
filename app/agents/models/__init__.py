"""Model clients behind one protocol; the only room that imports an LLM SDK."""
