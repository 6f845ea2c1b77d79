"""Background processes of sessions. They may outlive their call, but never the service."""
