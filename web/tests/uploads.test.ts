/** Sending files into a workspace, against answers as the service gives them. */
import { expect, test, vi } from "vitest";
import { readFiles } from "../src/chat/attachments";
import { OtherFileThere, sendFiles } from "../src/chat/uploads";

interface Sent {
  url: URL;
  type: string | null;
  body: number[];
}

/** The service, in the place of the network: what it is sent, and what it answers by name. */
const service = vi.hoisted(() => {
  const told = { sent: [] as Sent[], answer: (_: string): [number, object] => [500, {}] };
  // Pages name paths of their own origin, which Node.js has none of.
  globalThis.Request = class extends Request {
    constructor(input: RequestInfo | URL, init?: RequestInit) {
      super(typeof input === "string" ? new URL(input, "http://service") : input, init);
    }
  };
  globalThis.fetch = async (input) => {
    const request = input as Request;
    const url = new URL(request.url);
    const body = [...new Uint8Array(await request.arrayBuffer())];
    told.sent.push({ url, type: request.headers.get("content-type"), body });
    const [status, answer] = told.answer(url.searchParams.get("name") ?? "");
    return new Response(JSON.stringify(answer), { status });
  };
  return told;
});

function serving(answer: (name: string) => [number, object]): Sent[] {
  service.sent = [];
  service.answer = answer;
  return service.sent;
}

const binary = (name: string) => new File([new Uint8Array([0, 255])], name);
const kept = (name: string): [number, object] => [200, { path: `uploads/${name}`, size: 2 }];

test("files go as their bytes, one after another, and are told by their paths", async () => {
  const sent = serving(kept);
  const blocks = await sendFiles("ses_1", await readFiles([binary("a.zip"), binary("b.zip")], 9));

  expect(blocks.map((block) => block.text)).toEqual([
    "File in the workspace: `uploads/a.zip` (2 bytes)",
    "File in the workspace: `uploads/b.zip` (2 bytes)",
  ]);
  expect(sent.map(({ url, type, body }) => [url.pathname, url.search, type, body])).toEqual(
    ["a.zip", "b.zip"].map((name) => [
      "/api/v1/sessions/ses_1/files",
      `?name=${name}&overwrite=false`,
      "application/octet-stream",
      [0, 255],
    ]),
  );
});

test("another file of the name is named, and nothing after it is sent", async () => {
  const sent = serving((name) =>
    name === "a.zip" ? [409, { code: "already_exists", detail: "there" }] : kept(name),
  );
  const files = await readFiles([binary("a.zip"), binary("b.zip")], 9);

  const failed = await sendFiles("ses_1", files).catch((error: unknown) => error);

  expect(failed).toBeInstanceOf(OtherFileThere);
  expect((failed as OtherFileThere).id).toBe(files[0]?.id);
  expect(sent).toHaveLength(1);
});

test("what somebody has said may go is replaced", async () => {
  const sent = serving(kept);
  const [one] = await readFiles([binary("a.zip")], 9);
  if (one?.upload == null) throw new Error("it is not for the workspace");

  await sendFiles("ses_1", [{ ...one, upload: { ...one.upload, other: "replaced" } }]);

  expect(sent[0]?.url.searchParams.get("overwrite")).toBe("true");
});
