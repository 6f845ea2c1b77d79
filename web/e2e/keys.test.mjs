/** No key that was meant for something else answers a question about a risky call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, counts, say } from "./harness.mjs";
import { ask, scene } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const calls = (page, status) => page.locator(`article[data-status=${status}]`);
const approve = (page) => page.getByRole("button", { name: /^Approve once/ });
const badge = (page) => page.locator("kbd").filter({ hasText: "⏎" });
const ready = (page) => approve(page).and(page.locator(":enabled")).waitFor();

/** A page with a risky command that waits for a person. */
async function asked(words, play) {
  await scene(async (page) => {
    await say(page, words);
    await ready(page);
    await play(page);
  });
}

test("the key on the badge approves beside a picture, which is not sent", LIMIT, () =>
  asked("run rm -rf pictured", async (page) => {
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PIXEL });
    await page.getByRole("button", { name: /dot\.png/ }).waitFor();
    await composer(page).press("Control+Enter");
    await calls(page, "success").waitFor();
    await counts(page.getByRole("button", { name: /dot\.png/ }), 1);
  }),
);

test("the key on the badge approves while a reason is typed in the card", LIMIT, () =>
  asked("run rm -rf reasoned", async (page) => {
    const reason = page.getByLabel(/^Reason for declining/);
    await reason.fill("not sure yet");
    await badge(page).waitFor();
    await reason.press("Control+Enter");
    await calls(page, "success").waitFor();
  }),
);

test("while arguments are edited, the badge and its key approve them as edited", LIMIT, () =>
  asked("run rm -rf edited", async (page) => {
    await page.getByRole("button", { name: "Edit arguments" }).click();
    const field = page.getByLabel("Arguments", { exact: true });
    await field.fill("{");
    await field.press("Control+Enter");
    await counts(calls(page, "waiting"), 1);
    await field.fill('{"command": "echo instead"}');
    await badge(page).waitFor();
    await field.press("Control+Enter");
    await calls(page, "success").waitFor();
    const { calls: made } = await ask("GET", `/sessions/${page.url().split("/").at(-1)}/calls`);
    assert.deepEqual(JSON.parse(made[0].function.arguments), { command: "echo instead" });
  }),
);

test("no badge is shown where its key would do something else", LIMIT, () =>
  asked("run rm -rf elsewhere", async (page) => {
    await badge(page).waitFor();
    await page.getByRole("button", { name: /^Decline/ }).focus();
    await badge(page).waitFor({ state: "detached" });
    await composer(page).focus();
    await badge(page).waitFor();
    await composer(page).fill("/calcul");
    await page.getByRole("option", { name: /calculator/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByLabel("expression").focus();
    await badge(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Decline/ }).click();
    await calls(page, "declined").waitFor();
  }),
);

test("edited arguments that raise another reason are asked about as they would run", LIMIT, () =>
  asked("run rm -rf former", async (page) => {
    await page.getByRole("button", { name: "Edit arguments" }).click();
    await page.getByLabel("Arguments", { exact: true }).fill('{"command": "git push --force"}');
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByText(/A person changed the arguments, which now need approval/).waitFor();
    await page.getByText("git push --force").first().waitFor();
    await ready(page);
    await page.getByRole("button", { name: /^Decline/ }).click();
    await calls(page, "declined").waitFor();
  }),
);

test("the key of approving approves nothing from an empty field of a tool's form", LIMIT, () =>
  asked("run rm -rf formed", async (page) => {
    await composer(page).fill("/calcul");
    await page.getByRole("option", { name: /calculator/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByLabel("expression").press("Control+Enter");
    await page.getByRole("button", { name: /^Decline/ }).click();
    await calls(page, "declined").waitFor();
    await counts(calls(page, "success"), 0);
  }),
);

test("the key of approving does not approve from the button that declines", LIMIT, () =>
  asked("run rm -rf declined", async (page) => {
    await page.getByRole("button", { name: /^Decline/ }).focus();
    await page.keyboard.press("Control+Enter");
    await page.keyboard.press("Enter");
    await calls(page, "declined").waitFor();
    await counts(calls(page, "success"), 0);
  }),
);

test("a second click answers one question of two", LIMIT, () =>
  asked("two", async (page) => {
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await approve(page).dblclick();
    await calls(page, "waiting").first().waitFor();
    await ready(page);
    await counts(calls(page, "waiting"), 1);
  }),
);

test("a key that is held answers one question of two", LIMIT, () =>
  asked("two", async (page) => {
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await page.keyboard.down("Control");
    await page.keyboard.down("Enter");
    await calls(page, "waiting").first().waitFor();
    await ready(page);
    for (let times = 0; times < 5; times += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.keyboard.up("Control");
    await page.getByText("git push --force").first().waitFor();
    await counts(calls(page, "waiting"), 1);
  }),
);

test("one answer covers the equal requests that are shown, and no others", LIMIT, () =>
  scene(async (page) => {
    await say(page, "many folders");
    await page.getByText("1 of 4", { exact: true }).waitFor();
    // Whichever was asked first: a call with files to list takes longer.
    const card = page.locator("section[data-risk]");
    if ((await card.innerText()).includes("git push")) {
      await page.getByLabel("Next confirmation").click();
    }
    await page.getByLabel("Answer 2 equal requests of this run too").check();
    await page.getByText("Show them").click();
    await page.getByText("rm -rf old-2").first().waitFor();
    const all = page.getByRole("button", { name: /^Approve all 3/ });
    await all.and(page.locator(":enabled")).click();
    await page.getByText("Used 3 tools").waitFor();
    await page.getByRole("button", { name: /^Decline/ }).waitFor();
    await counts(calls(page, "waiting"), 1);
    await counts(page.getByLabel(/equal requests/), 0);
  }),
);
