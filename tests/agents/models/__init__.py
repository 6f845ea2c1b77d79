"""Tests of the model clients."""
