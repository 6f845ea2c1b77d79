"""REST and WebSocket interfaces."""
