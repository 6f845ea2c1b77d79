/** Files on their way into the workspace of a session. */
import { ApiError, api, data } from "../api/client";
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

/**
 * Send files one after another; what the message says of each.
 *
 * The first that is refused ends it. Sending the same ones again is no harm: the service knows
 * a file by its bytes.
 */
export async function sendFiles(
  sessionId: string,
  files: readonly Attachment[],
): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const one of files) {
    if (one.upload !== null) blocks.push(await sendFile(sessionId, one, one.upload));
  }
  return blocks;
}

async function sendFile(
  sessionId: string,
  { id, name }: Attachment,
  { file, other }: NonNullable<Attachment["upload"]>,
): Promise<ContentBlock> {
  try {
    const kept = await data(
      api.POST("/api/v1/sessions/{session_id}/files", {
        params: {
          path: { session_id: sessionId },
          query: { name, overwrite: other === "replaced" },
        },
        // The document knows bytes as text.
        body: file as unknown as string,
        bodySerializer: (bytes) => bytes,
        headers: { "content-type": "application/octet-stream" },
      }),
    );
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
