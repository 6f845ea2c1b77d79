"""REST API, with one router per subject."""
