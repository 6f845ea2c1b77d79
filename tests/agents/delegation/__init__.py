"""Delegation as the service sees it: batches, limits, workers that lie."""
