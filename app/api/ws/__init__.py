"""The chat protocol `tollgate.v1` over WebSocket."""
