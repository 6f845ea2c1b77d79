/** Files on their way into the workspace of a session. */
import { ApiError, type Schemas } from "../api/client";
import { ROOT } from "../api/root";
import { upload as sent, type Watching } from "../api/upload";
import type { ContentBlock } from "../events/messages";
import { asApiError } from "../events/sessionStore";
import { translate } from "../i18n";
import { type Attachment, referenceTo, refused } from "./attachments";

/** Another file of its name is in the workspace, and nobody has said that it may go. */
export class OtherFileThere extends ApiError {
  constructor(
    readonly id: string,
    name: string,
  ) {
    super({ code: "not_attached", detail: translate("chat.file.other", { name }) }, 409);
  }
}

export interface Sending {
  onSent: (id: string, bytes: number) => void;
  signal: AbortSignal;
}

/**
 * Send files one after another; what the message says of each.
 *
 * `onSent` is told how many bytes of which file have gone. The first that is refused ends it. Sending the same ones again is no harm: the service knows
 * a file by its bytes.
 */
export async function sendFiles(
  sessionId: string,
  files: readonly Attachment[],
  { onSent, signal }: Sending,
): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const one of files) {
    if (one.upload === null) continue;
    const watching = { onSent: (bytes: number) => onSent(one.id, bytes), signal };
    blocks.push(await sendFile(sessionId, one, one.upload, watching));
  }
  return blocks;
}

async function sendFile(
  sessionId: string,
  { id, name }: Attachment,
  { file, other }: NonNullable<Attachment["upload"]>,
  watching: Watching,
): Promise<ContentBlock> {
  const query = new URLSearchParams({ name, overwrite: String(other === "replaced") });
  const url = `${ROOT}/api/v1/sessions/${encodeURIComponent(sessionId)}/files?${query}`;
  try {
    const kept = await sent<Schemas["UploadView"]>(url, file, watching);
    return referenceTo(kept.path, kept.size);
  } catch (reason) {
    const error = asApiError(reason);
    if (error.code === "already_exists") throw new OtherFileThere(id, name);
    if (error.code === "project_required") {
      throw refused(translate("chat.file.no_workspace"));
    }
    throw error;
  }
}
