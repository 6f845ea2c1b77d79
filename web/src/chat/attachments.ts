/** Pictures that go along with a message. */
import type { ContentBlock } from "../events/messages";

export interface Attachment {
  id: string;
  name: string;
  preview: string;
  size: number;
  block: ContentBlock;
}

const TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** All pictures of a message; a frame has at most 1 MiB, and base64 makes three bytes four. */
export const MOST_BYTES = 700_000;

/**
 * The pictures among some files.
 *
 * Throws a RangeError when they do not fit into one message any more.
 */
export async function readPictures(
  files: Iterable<File>,
  former: readonly Attachment[],
): Promise<Attachment[]> {
  const wanted = [...files].filter((file) => TYPES.has(file.type));
  const size = [...former, ...wanted].reduce((sum, one) => sum + one.size, 0);
  if (size > MOST_BYTES) throw new RangeError("too large");
  return Promise.all(
    wanted.map(async (file) => {
      const preview = await dataUrl(file);
      const data = preview.slice(preview.indexOf(",") + 1);
      return {
        id: crypto.randomUUID(),
        name: file.name,
        preview,
        size: file.size,
        block: { type: "image", source: { type: "base64", media_type: file.type, data } },
      };
    }),
  );
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}
