/** Forgetting several memories: each by itself, so that one that is refused keeps no other. */
import { ApiError, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { type Translate, translate } from "../../i18n";
import { visible } from "../../shared/visible";
import { explain } from "../../shell/ErrorView";

export type Memory = Schemas["AdminMemory"];

/** Memories that are still there, and why. */
export type Left = ReadonlyMap<Memory, ApiError>;

/** Who is not let in, or reaches nobody, is not for the next memory either. */
const ENDS = new Set([0, 401, 403]);

/** Forget memories as they were chosen; those that are left. What is gone already is no failure. */
export async function forgetEach(
  memories: readonly Memory[],
  forget: (memory: Memory) => Promise<unknown>,
): Promise<Left> {
  const left = new Map<Memory, ApiError>();
  let ended: ApiError | null = null;
  for (const memory of memories) {
    if (ended === null) {
      try {
        await forget(memory);
      } catch (reason) {
        const error = asApiError(reason);
        if (error.status === 404) continue;
        if (ENDS.has(error.status)) ended = error;
        left.set(memory, error);
      }
    } else left.set(memory, ended);
  }
  return left;
}

/** What is told of those that are left: each by its key. */
export function leftError(count: number, left: Left, t: Translate = translate): ApiError {
  const errors = [...left].map(([memory, error]) => ({
    path: visible(memory.key),
    code: "memory_left",
    message: error.status === 412 ? t("memory.forget.changed") : explain(error, t).what,
  }));
  const detail = t("memory.forget.left", { left: left.size, count });
  return new ApiError({ code: "memories_left", detail, details: { errors } }, 409);
}
