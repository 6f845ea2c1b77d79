/** Files that are dropped onto the place where one writes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { composer, counts, reads, say } from "./harness.mjs";
import { ask, scene, sceneWithRefusals, service } from "./stage.mjs";

async function drop(page, name, bytes) {
  const files = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(content)], fileName));
      return transfer;
    },
    [name, [...bytes]],
  );
  await composer(page).dispatchEvent("drop", { dataTransfer: files });
}

const LIMIT = { timeout: 90_000 };
const ZIP = [80, 75, 3, 4, 0, 0, 255];

test("a text file goes along with its name", LIMIT, async () => {
  await scene(async (page) => {
    await drop(page, "list.csv", Buffer.from("name,price\nbread,3\n<b>x</b>,4\n"));
    await page.getByRole("button", { name: "Remove list.csv" }).waitFor();
    await say(page, "what is dear");
    await page.getByText(/^You said: what is dear/).waitFor();
    await counts(page.getByRole("button", { name: "Remove list.csv" }), 0);

    const log = page.getByRole("log");
    await log.getByRole("button", { name: "list.csv", expanded: false }).press("Enter");
    await log.getByRole("group", { name: "list.csv" }).getByText("<b>x</b>,4").waitFor();

    const id = page.url().split("/").at(-1);
    const [{ content }] = (await ask("GET", `/sessions/${id}/messages`)).messages;
    assert.equal(content[1].text, "File `list.csv`:\n```\nname,price\nbread,3\n<b>x</b>,4\n```");

    await page.getByRole("button", { name: "Edit and resend" }).first().focus();
    await page.keyboard.press("Enter");
    const field = page.getByRole("textbox", { name: "Your message" });
    await reads(() => field.inputValue(), "what is dear");
    await field.fill("what is cheap");
    await field.press("Enter");
    await page.getByText(/^You said: what is cheapFile/).waitFor();
  });
});

test("any other file goes into the workspace, where tools read it", LIMIT, async () => {
  await scene(async (page) => {
    await drop(page, "set up.zip", Buffer.from(ZIP));
    await page.getByRole("img", { name: "Will be uploaded to the workspace" }).waitFor();
    await say(page, "unpack it");
    const log = page.getByRole("log");
    // The answer repeats the path as code.
    const placed = log.getByText("uploads/set up.zip", { exact: true }).and(page.locator("span"));
    await placed.waitFor();
    await page.getByText(/^You said: unpack itFile in the workspace: /).waitFor();

    await say(page, "run wc -c < 'uploads/set up.zip'");
    await page.getByText("Done. The result is above.").waitFor();
    await log.getByText("7", { exact: true }).first().waitFor();
    const there = readFileSync(`${service.data}/workspace/uploads/set up.zip`);
    assert.deepEqual([...there], ZIP);
    await counts(page.getByRole("button", { name: "Remove set up.zip" }), 0);
  });
});

test("another file of the name is replaced only when that is said", LIMIT, async () => {
  await sceneWithRefusals(async (page) => {
    const place = `${service.data}/workspace/uploads/same.bin`;
    await drop(page, "same.bin", Buffer.from([0, 1]));
    await say(page, "first");
    await page.getByText(/^You said: first/).waitFor();

    await drop(page, "same.bin", Buffer.from([0, 2]));
    await say(page, "second");
    await page.getByText(/The workspace already has a different file “same.bin”/).waitFor();
    await reads(() => composer(page).inputValue(), "second");
    assert.deepEqual([...readFileSync(place)], [0, 1]);

    await page.getByRole("button", { name: "Replace same.bin in the workspace" }).press("Enter");
    await page.getByText("replaces the existing file").waitFor();
    await composer(page).press("Enter");
    await page.getByText(/^You said: second/).waitFor();
    assert.deepEqual([...readFileSync(place)], [0, 2]);
  });
});

test("what no workspace can take is refused before anything is begun", LIMIT, async () => {
  await scene(async (page) => {
    const large = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array((32 << 20) + 1)], "film.mp4"));
      return transfer;
    });
    await composer(page).dispatchEvent("drop", { dataTransfer: large });
    await page.getByText(/“film.mp4” is too large\. .* can be up to 32 MB/).waitFor();

    const before = (await ask("GET", "/sessions")).sessions.length;
    await page.getByLabel("Project", { exact: true }).selectOption("No project");
    await drop(page, "a.zip", Buffer.from(ZIP));
    await say(page, "look at it");
    await page.getByText(/This session has no project folder/).waitFor();
    await reads(() => composer(page).inputValue(), "look at it");
    assert.equal((await ask("GET", "/sessions")).sessions.length, before);

    await page.getByLabel("Project", { exact: true }).selectOption("default");
    await composer(page).press("Enter");
    await page.getByText(/^You said: look at it/).waitFor();
  });
});

test("how much of a file has gone is told, and sending it is stopped", LIMIT, async () => {
  await scene(async (page, context) => {
    const wire = await context.newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: -1 };
    await wire.send("Network.enable");
    await wire.send("Network.emulateNetworkConditions", { ...slow, uploadThroughput: 100_000 });
    await drop(page, "large.bin", Buffer.alloc(1_500_000));
    await say(page, "keep it");
    const bar = page.getByRole("progressbar", { name: "Uploading large.bin" });
    await bar.waitFor();
    await page.getByText(/^[1-9][\d.]* [kMKB]+ of 1\.\d+ MB$/).waitFor();
    await page.getByRole("button", { name: "Cancel the upload of large.bin" }).click();

    // Words and file are as they were, and go when they are sent anew.
    await page.getByRole("button", { name: "Remove large.bin" }).waitFor();
    await reads(() => composer(page).inputValue(), "keep it");
    await counts(bar, 0);
    await wire.send("Network.emulateNetworkConditions", { ...slow, uploadThroughput: -1 });
    await composer(page).press("Enter");
    await page.getByText(/^You said: keep itFile in the workspace: /).waitFor();
    const there = readFileSync(`${service.data}/workspace/uploads/large.bin`);
    assert.equal(there.length, 1_500_000);
  });
});
