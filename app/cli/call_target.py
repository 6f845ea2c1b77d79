"""Choice of where `tollgate call` runs: in a service or in this process."""

from __future__ import annotations

from app.cli.call_options import CallOptions
from app.cli.target import Place, RemoteService


async def make_call(options: CallOptions, place: Place) -> int:
    """Run the call, show it and return the exit code.

    Raises:
        TollgateError: No service or installation can run it.
    """
    if isinstance(place, RemoteService):
        from app.cli.remote_call import call_served

        return await call_served(options, place)
    from app.cli.call import call_once

    return await call_once(options, place.settings)
