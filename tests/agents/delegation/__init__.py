"""Delegation as the service sees it: batches, terms, workers that lie."""
