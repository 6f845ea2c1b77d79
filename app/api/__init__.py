"""The edge: REST and WebSocket."""
