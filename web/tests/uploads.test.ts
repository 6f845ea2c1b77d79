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
const told = { sent: [] as Sent[], answer: (_: string): [number, object] => [500, {}] };

function bytesOf(file: File): Promise<number[]> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve([...new Uint8Array(reader.result as ArrayBuffer)]);
    reader.readAsArrayBuffer(file);
  });
}

/** As much of a request as sending a file uses. It tells of one byte, then of all. */
class Request {
  upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onload = () => {};
  onabort = () => {};
  status = 0;
  responseText = "";
  private url = new URL("http://service");
  private type: string | null = null;

  open(_: string, url: string) {
    this.url = new URL(url, "http://service");
  }

  setRequestHeader(name: string, value: string) {
    if (name === "content-type") this.type = value;
  }

  abort() {
    this.onabort();
  }

  async send(file: File) {
    const body = await bytesOf(file);
    for (const loaded of [1, body.length]) this.upload.onprogress?.({ loaded });
    const name = this.url.searchParams.get("name") ?? "";
    told.sent.push({ url: this.url, type: this.type, body });
    const [status, answer] = told.answer(name);
    if (status === 0) return;
    this.status = status;
    this.responseText = JSON.stringify(answer);
    this.onload();
  }
}
vi.stubGlobal("XMLHttpRequest", Request);

function serving(answer: (name: string) => [number, object]): Sent[] {
  told.sent = [];
  told.answer = answer;
  return told.sent;
}

const watched = (signal = new AbortController().signal) => {
  const gone: [string, number][] = [];
  return {
    gone,
    sending: { signal, onSent: (id: string, count: number) => gone.push([id, count]) },
  };
};
const binary = (name: string) => new File([new Uint8Array([0, 255])], name);
const kept = (name: string): [number, object] => [200, { path: `uploads/${name}`, size: 2 }];

test("files go as their bytes, one after another, and are told by their paths", async () => {
  const sent = serving(kept);
  const blocks = await sendFiles(
    "ses_1",
    await readFiles([binary("a.zip"), binary("b.zip")], 9),
    watched().sending,
  );

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

  const failed = await sendFiles("ses_1", files, watched().sending).catch(
    (error: unknown) => error,
  );

  expect(failed).toBeInstanceOf(OtherFileThere);
  expect((failed as OtherFileThere).id).toBe(files[0]?.id);
  expect(sent).toHaveLength(1);
});

test("what somebody has said may go is replaced", async () => {
  const sent = serving(kept);
  const [one] = await readFiles([binary("a.zip")], 9);
  if (one?.upload == null) throw new Error("it is not for the workspace");

  await sendFiles(
    "ses_1",
    [{ ...one, upload: { ...one.upload, other: "replaced" } }],
    watched().sending,
  );

  expect(sent[0]?.url.searchParams.get("overwrite")).toBe("true");
});

test("how much of which file has gone is told", async () => {
  serving(kept);
  const { gone, sending } = watched();
  const files = await readFiles([binary("a.zip"), binary("b.zip")], 9);
  await sendFiles("ses_1", files, sending);
  const [first, second] = files.map((one) => one.id);
  expect(gone).toEqual([
    [first, 1],
    [first, 2],
    [second, 1],
    [second, 2],
  ]);
});

test("what is stopped ends, and nothing after it is sent", async () => {
  const stop = new AbortController();
  const sent = serving((name) => {
    if (name === "a.zip") stop.abort();
    return [0, {}];
  });
  const files = await readFiles([binary("a.zip"), binary("b.zip")], 9);
  const failed = sendFiles("ses_1", files, watched(stop.signal).sending);
  await expect(failed).rejects.toMatchObject({ code: "stopped" });
  expect(sent).toHaveLength(1);
  const again = sendFiles("ses_1", files, watched(stop.signal).sending);
  await expect(again).rejects.toMatchObject({ code: "stopped" });
  expect(sent).toHaveLength(1);
});
