"""Execution of tool calls, from arguments to result."""
