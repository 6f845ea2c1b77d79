"""Benchmarks run and report; what they measure is not a test's business."""
