/** Files that go along with a message: inside it, or into the workspace. */
import { ApiError } from "../api/client";
import type { ContentBlock } from "../events/messages";
import { currentLanguage, translate } from "../i18n";
import { bytes, text } from "../renderers/data";
import { visible } from "../shared/visible";

export interface Attachment {
  id: string;
  name: string;
  /** Of a picture; null for what is shown by its name. */
  preview: string | null;
  /** Bytes of the message that it takes. */
  weight: number;
  /** Its part of the message; null for a file that goes into the workspace. */
  block: ContentBlock | null;
  upload: Upload | null;
}

/** A file for the workspace; it is sent when the message is. */
export interface Upload {
  file: File;
  /** Another file of its name is there: whether it shall be replaced is asked, or has been said. */
  other: "asked" | "replaced" | null;
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** All attachments of a message: a frame has at most 1 MiB, and words need room too. */
export const MOST_WEIGHT = 940_000;
export const MOST_TEXT_BYTES = 200_000;
const NAME_CHARS = 120;
/** The service takes no longer ones. */
const NAME_BYTES = 200;
const REFERENCE_BYTES = 400;
const HEAD = /^File `([^`\n]*)`:\n`{3,}\n/;
/** Signs that no text has, but for tabs, line ends and page breaks. */
const BINARY = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

const REFERENCE = /^File in the workspace: `([^`\n]+)` \((\d+) bytes\)$/;

/**
 * What files bring to a message.
 *
 * What the message cannot hold is for the workspace, which takes `mostUpload` bytes of a file.
 * Throws an ApiError that says why when one is larger, or cannot be read.
 */
export function readFiles(files: Iterable<File>, mostUpload: number): Promise<Attachment[]> {
  return Promise.all([...files].map((file) => readFile(file, mostUpload)));
}

/** Throws an ApiError when they do not fit into one message. */
export function mustFit(attachments: readonly Attachment[]): void {
  const weight = attachments.reduce((sum, one) => sum + one.weight, 0);
  if (weight > MOST_WEIGHT) throw refused(translate("chat.file.too_much"));
}

async function readFile(file: File, mostUpload: number): Promise<Attachment> {
  const name = shortened(visible(file.name).replace(/[`\n\r\\/]/g, "_"));
  // Base64 makes four of three bytes.
  if (PICTURES.has(file.type) && file.size * 4 <= MOST_WEIGHT * 3) {
    const preview = await dataUrl(file);
    const data = preview.slice(preview.indexOf(",") + 1);
    const source = { type: "base64", media_type: file.type, data };
    return made(name, preview, data.length, { type: "image", source });
  }
  const words = file.size > MOST_TEXT_BYTES ? null : asWords(await bytesOf(file, file.name));
  if (words === null) return forWorkspace(name, file, mostUpload);
  const block = { type: "text", text: fenced(name, words) };
  return made(name, null, new TextEncoder().encode(JSON.stringify(block)).length, block);
}

function made(name: string, preview: string | null, weight: number, block: ContentBlock) {
  return { id: crypto.randomUUID(), name, preview, weight, block, upload: null };
}

async function forWorkspace(name: string, file: File, mostUpload: number): Promise<Attachment> {
  if (mostUpload === 0) throw refused(translate("chat.file.no_uploads", { name }));
  if (file.size > mostUpload) {
    const most = bytes(mostUpload, currentLanguage());
    throw refused(translate("chat.file.too_large", { name, most }));
  }
  // A folder looks like a file until it is read.
  await bytesOf(file.slice(0, 1), file.name);
  return {
    id: crypto.randomUUID(),
    name,
    preview: null,
    weight: REFERENCE_BYTES,
    block: null,
    upload: { file, other: null },
  };
}

/** At most so long as a file's name may be; what tells its kind stays. */
function shortened(name: string): string {
  const ending = /\.[\w.]{1,12}$/.exec(name)?.[0] ?? "";
  const stem = [...name.slice(0, name.length - ending.length)].slice(0, NAME_CHARS);
  const length = () => new TextEncoder().encode(stem.join("") + ending).length;
  while (length() > NAME_BYTES) stem.pop();
  return stem.join("") + ending;
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

/** What a message says of a file that lies in the workspace. */
export function referenceTo(path: string, size: number): ContentBlock {
  return { type: "text", text: `File in the workspace: \`${path}\` (${size} bytes)` };
}

/** The path and the size of a file that went into the workspace; null for anything else. */
export function referenceIn(block: ContentBlock): { path: string; size: number } | null {
  const found = block.type === "text" ? REFERENCE.exec(text(block.text)) : null;
  return found === null ? null : { path: found[1] ?? "", size: Number(found[2]) };
}

/** Whether a block is a file, and not somebody's words. */
export const isFile = (block: ContentBlock): boolean =>
  fileIn(block) !== null || referenceIn(block) !== null;

export function refused(detail: string): ApiError {
  return new ApiError({ code: "not_attached", detail }, 0);
}

function reading<T>(name: string, begin: (reader: FileReader) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as T);
    // A folder, or a file that is gone by now.
    reader.onerror = () =>
      reject(refused(translate("chat.file.unreadable", { name: visible(name) })));
    begin(reader);
  });
}

const dataUrl = (file: File) => reading<string>(file.name, (reader) => reader.readAsDataURL(file));
const bytesOf = (part: Blob, name: string) =>
  reading<ArrayBuffer>(name, (reader) => reader.readAsArrayBuffer(part));
