"""The tests; the folders mirror `app/`."""
