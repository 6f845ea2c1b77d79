"""Tests of channels and desktop tasks."""
