"""The REST edge: one router per subject, nothing that WebSocket clients cannot do too."""
