/** What files become in a message. */
import { describe, expect, test } from "vitest";
import {
  type Attachment,
  fileIn,
  isFile,
  MOST_TEXT_BYTES,
  MOST_WEIGHT,
  mustFit,
  readFiles,
  referenceIn,
  referenceTo,
} from "../src/chat/attachments";

const file = (name: string, content: BlobPart, type = "") => new File([content], name, { type });

const MOST = 300_000;

async function one(given: File): Promise<Attachment> {
  const [attachment] = await readFiles([given], MOST);
  if (attachment === undefined) throw new Error("nothing came of it");
  return attachment;
}

async function inside(given: File) {
  const { block, preview, name } = await one(given);
  if (block === null) throw new Error("it is for the workspace");
  return { block, preview, name };
}

describe("a text file", () => {
  test("is a block with its name, whatever its type is called", async () => {
    const { block, preview, name } = await inside(
      file("笔记.csv", "a,b\n1,2\n", "application/x-odd"),
    );
    expect(block).toEqual({ type: "text", text: "File `笔记.csv`:\n```\na,b\n1,2\n```" });
    expect([preview, name]).toEqual([null, "笔记.csv"]);
    expect(fileIn(block)).toEqual({ name: "笔记.csv", words: "a,b\n1,2" });
  });

  test("cannot end its own fence, nor its name the line", async () => {
    const { block } = await inside(file("a`\nb.md", "````\ninside\n````"));
    expect(block.text).toMatch(/^File `[^`\n]*`:\n`{5}\n````\ninside\n````\n`{5}$/);
    expect(fileIn(block)?.words).toBe("````\ninside\n````");
  });

  test("is known in the log when it was cut there", () => {
    const block = { type: "text", text: "File `a.txt`:\n```\nbegun", truncated: true };
    expect(fileIn(block)).toEqual({ name: "a.txt", words: "begun" });
    expect(fileIn({ type: "text", text: "See File `a.txt`:" })).toBeNull();
  });
});

describe("a file that a message cannot hold", () => {
  test.each([
    ["with a NUL", new Uint8Array([80, 75, 0, 4]), ""],
    ["not in UTF-8", new Uint8Array([0xff, 0xfe, 0x41]), ""],
    ["of long text", "x".repeat(MOST_TEXT_BYTES + 1), "text/plain"],
    ["with a large picture", new Uint8Array(MOST_WEIGHT), "image/png"],
  ])("%s is for the workspace", async (_, content, type) => {
    const given = file("odd.bin", content as BlobPart, type);
    const [attached] = await readFiles([given], 1_000_000);
    expect(attached).toMatchObject({ block: null, preview: null, name: "odd.bin" });
    expect(attached?.upload).toEqual({ file: given, other: null });
  });

  test("is refused by name when it is larger than the service takes", async () => {
    const large = file("odd.bin", new Uint8Array(MOST + 1));
    const said = readFiles([large], MOST);
    await expect(said).rejects.toMatchObject({ code: "not_attached" });
    await expect(said).rejects.toThrow(/“odd.bin” is too large\. .* up to 293 KB/);
  });

  test("is refused where the service takes none, and text is not", async () => {
    const said = readFiles([file("odd.bin", new Uint8Array([0]))], 0);
    await expect(said).rejects.toThrow(/“odd.bin” can.t be attached/);
    expect(await readFiles([file("a.txt", "a")], 0)).toHaveLength(1);
  });

  test("keeps its ending in a name that the service takes", async () => {
    const { name } = await one(file(`${"文".repeat(150)}/\\.tar.gz`, new Uint8Array([0])));
    expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(200);
    expect(name).toMatch(/^文+\.tar\.gz$/);
    expect((await one(file("a\\b.zip", new Uint8Array([0])))).name).toBe("a_b.zip");
  });

  test("is told with its path, and told from words", () => {
    const block = referenceTo("uploads/报告 (1).pdf", 1234);
    expect(referenceIn(block)).toEqual({ path: "uploads/报告 (1).pdf", size: 1234 });
    expect(isFile(block)).toBe(true);
    expect(isFile({ type: "text", text: "File in the workspace: `a`?" })).toBe(false);
  });
});

test("a picture goes along as its bytes", async () => {
  const { block, preview } = await inside(file("dot.png", new Uint8Array([1, 2, 3]), "image/png"));
  expect(block).toEqual({
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "AQID" },
  });
  expect(preview).toBe("data:image/png;base64,AQID");
});

test("what does not fit into one message is refused", async () => {
  const half = { ...(await one(file("a.txt", "a"))), weight: MOST_WEIGHT / 2 };
  expect(() => mustFit([half, half])).not.toThrow();
  expect(() => mustFit([half, half, half])).toThrow(/exceed 700 KB/);
});
