"""Tests of the skill tools."""
