"""Tests of sessions, runs and the agent loop."""
