/** No key that was meant for something else answers a question about a risky call. */
import { test } from "node:test";
import { composer, counts, say } from "./harness.mjs";
import { scene } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const calls = (page, status) => page.locator(`article[data-status=${status}]`);
const approve = (page) => page.getByRole("button", { name: /^Approve once/ });
const ready = (page) => approve(page).and(page.locator(":enabled")).waitFor();

/** A page with a risky command that waits for a person. */
async function asked(words, play) {
  await scene(async (page) => {
    await say(page, words);
    await ready(page);
    await play(page);
  });
}

test("a picture without words is sent, and approves nothing", LIMIT, () =>
  asked("run rm -rf pictured", async (page) => {
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PIXEL });
    const remove = page.getByRole("button", { name: /dot\.png/ });
    await remove.waitFor();
    await composer(page).press("Control+Enter");
    await remove.waitFor({ state: "detached" });
    await counts(calls(page, "waiting"), 1);
    await ready(page);
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
