"""A scripted server of the chat completions wire, for tests of its client."""
