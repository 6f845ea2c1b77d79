/** Pictures and text files that go along with a message. */
import { ApiError } from "../api/client";
import type { ContentBlock } from "../events/messages";
import { translate } from "../i18n";
import { text } from "../renderers/data";
import { visible } from "../shared/visible";

export interface Attachment {
  id: string;
  name: string;
  /** Of a picture; null for a text file. */
  preview: string | null;
  /** Bytes of the message that it takes. */
  weight: number;
  block: ContentBlock;
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** All attachments of a message: a frame has at most 1 MiB, and words need room too. */
export const MOST_WEIGHT = 940_000;
export const MOST_TEXT_BYTES = 200_000;
const NAME_CHARS = 120;
const HEAD = /^File `([^`\n]*)`:\n`{3,}\n/;
/** Signs that no text has, but for tabs, line ends and page breaks. */
const BINARY = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/**
 * What files bring to a message.
 *
 * Throws an ApiError that says why when one is neither a picture nor text, or too large.
 */
export function readFiles(files: Iterable<File>): Promise<Attachment[]> {
  return Promise.all([...files].map(readFile));
}

/** Throws an ApiError when they do not fit into one message. */
export function mustFit(attachments: readonly Attachment[]): void {
  const weight = attachments.reduce((sum, one) => sum + one.weight, 0);
  if (weight > MOST_WEIGHT) throw refused(translate("chat.file.too_much"));
}

async function readFile(file: File): Promise<Attachment> {
  const name = visible(file.name)
    .replace(/[`\n\r]/g, "_")
    .slice(0, NAME_CHARS);
  if (PICTURES.has(file.type)) {
    // Base64 makes four of three bytes: what is far too large is not even read.
    if (file.size > MOST_WEIGHT) throw refused(translate("chat.file.too_much"));
    const preview = await dataUrl(file);
    const data = preview.slice(preview.indexOf(",") + 1);
    const source = { type: "base64", media_type: file.type, data };
    return made(name, preview, data.length, { type: "image", source });
  }
  if (file.size > MOST_TEXT_BYTES) throw refused(translate("chat.file.too_large", { name }));
  const words = asWords(await bytesOf(file));
  if (words === null) throw refused(translate("chat.file.not_text", { name }));
  const block = { type: "text", text: fenced(name, words) };
  return made(name, null, new TextEncoder().encode(JSON.stringify(block)).length, block);
}

function made(name: string, preview: string | null, weight: number, block: ContentBlock) {
  return { id: crypto.randomUUID(), name, preview, weight, block };
}

function asWords(bytes: ArrayBuffer): string | null {
  try {
    const words = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return BINARY.test(words) ? null : words;
  } catch {
    return null;
  }
}

/** A file as the model reads it: its name, and its text in a fence that nothing inside ends. */
function fenced(name: string, words: string): string {
  const longest = Math.max(2, ...[...words.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `File \`${name}\`:\n${fence}\n${words}${words.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** The name and the text of a file that went along; null for words that somebody wrote. */
export function fileIn(block: ContentBlock): { name: string; words: string } | null {
  if (block.type !== "text") return null;
  const whole = text(block.text);
  const head = HEAD.exec(whole);
  if (head === null) return null;
  // A long one is cut in the log, and has no end there.
  return { name: head[1] ?? "", words: whole.slice(head[0].length).replace(/\n`{3,}$/, "") };
}

function refused(detail: string): ApiError {
  return new ApiError({ code: "not_attached", detail }, 0);
}

function reading<T>(file: File, begin: (reader: FileReader) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as T);
    // A folder, or a file that is gone by now.
    reader.onerror = () =>
      reject(refused(translate("chat.file.unreadable", { name: visible(file.name) })));
    begin(reader);
  });
}

const dataUrl = (file: File) => reading<string>(file, (reader) => reader.readAsDataURL(file));
const bytesOf = (file: File) =>
  reading<ArrayBuffer>(file, (reader) => reader.readAsArrayBuffer(file));
