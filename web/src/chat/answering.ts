/** Answers to confirmations: one at a time, and always with the digest that was shown. */
import { createStore } from "zustand/vanilla";
import type { Connection } from "../events/connection";
import type { ConfirmationRequest } from "../events/messages";

export interface Answer {
  optionId: string;
  message?: string;
  editedArgs?: Record<string, unknown>;
  /** Of a standing approval: shorter than offered. */
  expiresInS?: number;
  /** Of a standing approval: how many calls it covers. */
  maxUses?: number;
  /** Digests of equal requests that the answer covers too, by confirmation. */
  also?: Readonly<Record<string, string>>;
}

type Sent = "sent" | "refused";

/** The answers of this page, by confirmation. */
export const answeredHere = createStore<ReadonlyMap<string, Sent>>(() => new Map());

function note(id: string, sent: Sent | null): void {
  const answers = new Map(answeredHere.getState());
  if (sent === null) answers.delete(id);
  else answers.set(id, sent);
  answeredHere.setState(answers, true);
}

export async function answer(
  connection: Connection,
  request: ConfirmationRequest,
  { optionId, message, editedArgs, expiresInS, maxUses, also = {} }: Answer,
): Promise<Record<string, unknown>> {
  const id = request.confirmation_id;
  // Before the service reports the outcome, which may come before the acknowledgement.
  for (const one of [id, ...Object.keys(also)]) note(one, "sent");
  try {
    const answered = await connection.command("tool_confirmation_response", {
      session_id: request.session_id,
      confirmation_id: id,
      option_id: optionId,
      digest: request.digest,
      ...(message === undefined || message.trim() === "" ? {} : { message: message.trim() }),
      ...(editedArgs === undefined ? {} : { edited_args: editedArgs }),
      ...(expiresInS === undefined ? {} : { expires_in_s: expiresInS }),
      ...(maxUses === undefined ? {} : { max_uses: maxUses }),
      ...(Object.keys(also).length === 0 ? {} : { also }),
    });
    // Further people must approve: who ends the request is someone else.
    const outcomes = { ...(answered.also as Record<string, string>), [id]: answered.outcome };
    for (const [one, outcome] of Object.entries(outcomes)) {
      if (outcome === "recorded") note(one, null);
    }
    return answered;
  } catch (error) {
    for (const one of [id, ...Object.keys(also)]) note(one, "refused");
    throw error;
  }
}

export type Option = ConfirmationRequest["options"][number];

/** The options in two groups: what settles this call alone, and what would last. */
export function grouped(options: readonly Option[]): { once: Option[]; lasting: Option[] } {
  const lasts = (option: Option) => option.kind === "allow" && option.option_id !== "approve_once";
  return {
    once: options.filter((option) => !lasts(option)),
    lasting: options.filter(lasts),
  };
}
