"""Composition: settings become services, services become the application.

Heavy imports (web stack, SDKs, the ORM) are inside the functions that need them, so that
`tollgate call` does not load the server.
"""
