"""Tests of skills on disk."""
