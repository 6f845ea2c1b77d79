"""Tests of proposed rules."""
