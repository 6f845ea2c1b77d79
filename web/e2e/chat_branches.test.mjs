/** Going on from earlier messages, and coming back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, counts, reads, say } from "./harness.mjs";
import { ask, scene } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };
const answered = (page, words) => page.getByText(`You said: ${words}`, { exact: true }).waitFor();
const item = (page, words) => page.locator("[data-kind=message]").filter({ hasText: words });
const log = (page) => page.getByRole("log");
const gone = (page, words) =>
  log(page).getByText(words, { exact: true }).first().waitFor({ state: "detached" });

/** Say something, and wait until the run has ended. */
async function talk(page, words) {
  await say(page, words);
  await answered(page, words);
  await page.getByRole("button", { name: "Stop run" }).waitFor({ state: "detached" });
}

test("a message is edited and sent again, and both are there to choose from", LIMIT, () =>
  scene(async (page, context) => {
    await talk(page, "first words");
    await talk(page, "second words");
    const other = await context.newPage();
    await other.goto(page.url());
    await answered(other, "second words");

    await item(page, "first words").first().hover();
    await page.getByRole("button", { name: "Edit and resend" }).first().click();
    const field = page.getByRole("textbox", { name: "Your message" });
    await reads(() => field.inputValue(), "first words");
    await field.fill("better words");
    await page.keyboard.press("Enter");
    await answered(page, "better words");
    await gone(page, "second words");
    await counts(log(page).getByText("first words", { exact: true }), 0);
    await page.getByText("2 of 2", { exact: true }).waitFor();

    await answered(other, "better words");
    await gone(other, "second words");

    await page.getByRole("button", { name: "Previous branch" }).click();
    await answered(page, "second words");
    await gone(page, "better words");
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await answered(other, "second words");
    await page.reload();
    await answered(page, "second words");
    await counts(log(page).getByText("better words", { exact: true }), 0);
  }),
);

test("the next message follows an earlier one, by keyboard, or one goes back", LIMIT, () =>
  scene(async (page) => {
    await talk(page, "apples");
    await talk(page, "pears");
    const here = item(page, "You said: apples").getByRole("button", { name: "Branch from here" });
    await here.focus();
    await page.keyboard.press("Enter");
    await gone(page, "pears");
    await page.getByText(/^There are newer messages/).waitFor();
    await page.getByRole("button", { name: "Back to latest" }).click();
    await answered(page, "pears");

    await here.focus();
    await page.keyboard.press("Enter");
    await gone(page, "pears");
    await page.waitForFunction(() => document.activeElement?.hasAttribute("data-composer"));
    await page.keyboard.type("plums");
    await page.keyboard.press("Enter");
    await answered(page, "plums");
    await counts(log(page).getByText("pears", { exact: true }), 0);
    await item(page, "plums").first().getByText("2 of 2", { exact: true }).waitFor();
  }),
);

test("a picture is sent again with the words that were edited", LIMIT, () =>
  scene(async (page) => {
    await page.locator("input[type=file]").setInputFiles({
      name: "dot.png",
      mimeType: "image/png",
      buffer: Buffer.from(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "base64",
      ),
    });
    await page.getByRole("img", { name: "dot.png" }).waitFor();
    await talk(page, "look at it");
    await item(page, "look at it").first().hover();
    await page.getByRole("button", { name: "Edit and resend" }).click();
    const field = page.getByRole("textbox", { name: "Your message" }).and(page.locator(":enabled"));
    await field.fill("look closer");
    await page.keyboard.press("Enter");
    await answered(page, "look closer");
    const id = page.url().split("/").at(-1);
    const [{ content }] = (await ask("GET", `/sessions/${id}/messages`)).messages;
    assert.deepEqual(
      content.map((block) => block.type),
      ["image", "text"],
    );
    assert.ok(content[0].source.data.startsWith("iVBOR"));
  }),
);

test(
  "while a run is active nothing is branched, and no key of an edit approves a call",
  LIMIT,
  () =>
    scene(async (page, context) => {
      await talk(page, "calm");
      await item(page, "calm").first().hover();
      await page.getByRole("button", { name: "Edit and resend" }).click();
      const field = page.getByRole("textbox", { name: "Your message" });
      await field.fill("");
      const other = await context.newPage();
      await other.goto(page.url());
      await composer(other).waitFor();
      await say(other, "run rm -rf waits");
      await page
        .getByRole("button", { name: /^Approve once/ })
        .and(page.locator(":enabled"))
        .waitFor();
      await counts(page.getByRole("button", { name: "Branch from here" }), 0);
      await page.getByText("You can send this after the run ends.").waitFor();
      await field.press("Control+Enter");
      await field.fill("not an answer");
      await field.press("Control+Enter");
      await reads(() => field.inputValue(), "not an answer");
      await counts(page.locator("article[data-status=waiting]"), 1);
      await page.keyboard.press("Control+Shift+Backspace");
      await page.locator("article[data-status=declined]").waitFor();
    }),
);
