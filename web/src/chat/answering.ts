/** Answers to confirmations: one at a time, and always with the digest that was shown. */
import { createStore } from "zustand/vanilla";
import type { Connection } from "../events/connection";
import type { ConfirmationRequest } from "../events/messages";

export interface Answer {
  optionId: string;
  message?: string;
  editedArgs?: Record<string, unknown>;
}

type Sent = "sent" | "refused";

/** The answers of this page, by confirmation. */
export const answeredHere = createStore<ReadonlyMap<string, Sent>>(() => new Map());

const note = (id: string, sent: Sent) =>
  answeredHere.setState(new Map(answeredHere.getState()).set(id, sent), true);

export async function answer(
  connection: Connection,
  request: ConfirmationRequest,
  { optionId, message, editedArgs }: Answer,
): Promise<void> {
  const id = request.confirmation_id;
  // Before the service reports the outcome, which may come before the acknowledgement.
  note(id, "sent");
  try {
    await connection.command("tool_confirmation_response", {
      session_id: request.session_id,
      confirmation_id: id,
      option_id: optionId,
      digest: request.digest,
      ...(message === undefined || message.trim() === "" ? {} : { message: message.trim() }),
      ...(editedArgs === undefined ? {} : { edited_args: editedArgs }),
    });
  } catch (error) {
    note(id, "refused");
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
