"""Scripted server with the chat completions API, for tests of its client."""
