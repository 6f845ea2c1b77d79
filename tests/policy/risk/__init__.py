"""Tests of the shell-risk analysis."""
