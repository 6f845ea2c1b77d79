"""Public key of Web Push."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.api.deps import ServiceDep, SignedIn
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of

router = routes_of("identity")


class PushKey(BaseModel):
    """Key that a browser subscribes with."""

    model_config = example(
        public_key="BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
    )

    public_key: str = Field(
        description="`applicationServerKey`: an uncompressed P-256 point in URL-safe Base64."
    )


@router.get("/me/push-key", summary="Get the public key of Web Push", responses=problems())
async def get_push_key(service: ServiceDep, _: SignedIn) -> PushKey:
    """Requires any token or login. The key stays the same until its file is replaced."""
    return PushKey(public_key=service.push_keys.public_key)
