"""Skills on disk: found, read, judged, switched, and set up to run."""
