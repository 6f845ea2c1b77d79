/** A request as the service has stored it, for the card that shows it. */
import type { Schemas } from "../api/client";
import type { ConfirmationRequest } from "../events/messages";
import { type Confirmation, openConfirmation } from "../events/model";

export function requestOf(stored: Schemas["ConfirmationView"]): Confirmation {
  // The stored fields lack the ids that the request was given.
  return openConfirmation({
    ...stored.request,
    confirmation_id: stored.confirmation_id,
    session_id: stored.session_id,
    run_id: stored.run_id ?? null,
    agent_id: stored.agent_id ?? null,
    tool_call_id: stored.tool_call_id,
    expires_at: stored.expires_at ?? null,
  } as unknown as ConfirmationRequest);
}
