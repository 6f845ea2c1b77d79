/** What files become in a message. */
import { describe, expect, test } from "vitest";
import {
  type Attachment,
  fileIn,
  MOST_TEXT_BYTES,
  MOST_WEIGHT,
  mustFit,
  readFiles,
} from "../src/chat/attachments";

const file = (name: string, content: BlobPart, type = "") => new File([content], name, { type });

async function one(given: File): Promise<Attachment> {
  const [attachment] = await readFiles([given]);
  if (attachment === undefined) throw new Error("nothing came of it");
  return attachment;
}

describe("a text file", () => {
  test("is a block with its name, whatever its type is called", async () => {
    const { block, preview, name } = await one(file("笔记.csv", "a,b\n1,2\n", "application/x-odd"));
    expect(block).toEqual({ type: "text", text: "File `笔记.csv`:\n```\na,b\n1,2\n```" });
    expect([preview, name]).toEqual([null, "笔记.csv"]);
    expect(fileIn(block)).toEqual({ name: "笔记.csv", words: "a,b\n1,2" });
  });

  test("cannot end its own fence, nor its name the line", async () => {
    const { block } = await one(file("a`\nb.md", "````\ninside\n````"));
    expect(block.text).toMatch(/^File `[^`\n]*`:\n`{5}\n````\ninside\n````\n`{5}$/);
    expect(fileIn(block)?.words).toBe("````\ninside\n````");
  });

  test("is known in the log when it was cut there", () => {
    const block = { type: "text", text: "File `a.txt`:\n```\nbegun", truncated: true };
    expect(fileIn(block)).toEqual({ name: "a.txt", words: "begun" });
    expect(fileIn({ type: "text", text: "See File `a.txt`:" })).toBeNull();
  });
});

test.each([
  ["with a NUL", new Uint8Array([80, 75, 0, 4]), "not_text"],
  ["not in UTF-8", new Uint8Array([0xff, 0xfe, 0x41]), "not_text"],
  ["that is too large", "x".repeat(MOST_TEXT_BYTES + 1), "too large"],
])("a file %s is refused, by name", async (_, content, why) => {
  const said = expect(readFiles([file("odd.bin", content as BlobPart)])).rejects;
  await said.toMatchObject({ code: "not_attached" });
  const reason = why === "not_text" ? /“odd.bin” is neither a picture/ : /“odd.bin” is too large/;
  await expect(readFiles([file("odd.bin", content as BlobPart)])).rejects.toThrow(reason);
});

test("a picture goes along as its bytes", async () => {
  const { block, preview } = await one(file("dot.png", new Uint8Array([1, 2, 3]), "image/png"));
  expect(block).toEqual({
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "AQID" },
  });
  expect(preview).toBe("data:image/png;base64,AQID");
});

test("what does not fit into one message is refused", async () => {
  const half = { ...(await one(file("a.txt", "a"))), weight: MOST_WEIGHT / 2 };
  expect(() => mustFit([half, half])).not.toThrow();
  expect(() => mustFit([half, half, half])).toThrow(/700 KB together/);
});
