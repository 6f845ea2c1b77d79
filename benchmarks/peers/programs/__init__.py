"""Programs that run in the peers' own environment, where nothing of `app` is installed."""
