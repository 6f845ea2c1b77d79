/** What a session is beside its words: thoughts, a file to keep, a run that somebody else ends. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { axeOf, composer, counts, reads, say } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };

test("thoughts are folded, and open by keyboard", LIMIT, () =>
  scene(async (page) => {
    await say(page, "essay please");
    await page.locator("[data-kind=run_end]").waitFor();
    const fold = page.getByText("Reasoning").first();
    const thought = page.getByText("I shall write about gates.");
    await reads(() => thought.isVisible(), false);
    await fold.focus();
    await page.keyboard.press("Enter");
    await thought.waitFor();
  }),
);

test("a session is kept as Markdown and as JSON", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run echo kept");
    await page.locator("[data-kind=run_end]").waitFor();
    const kept = async (label) => {
      await page.getByRole("button", { name: "Session actions", exact: true }).click();
      const coming = page.waitForEvent("download");
      await page.getByText(label).click();
      return readFileSync(await (await coming).path(), "utf8");
    };
    const markdown = await kept("Export as Markdown");
    assert.match(markdown, /run echo kept/);
    assert.match(markdown, /I run it\./);
    const json = JSON.parse(await kept("Export as JSON"));
    assert.match(JSON.stringify(json), /echo kept/);
  }),
);

test("a run that waits is cancelled from the admin pages, and the chat says so", LIMIT, () =>
  scene(async (page, context) => {
    await say(page, "run rm -rf waiting-for-somebody");
    await page.getByText("Allow bash to run?").waitFor();
    const id = page.url().split("/").at(-1);
    const room = await context.newPage();
    await room.goto(`${service.url}/admin/sessions/${id}`);
    await room.getByRole("button", { name: /^Stop/ }).first().click();
    await room
      .getByRole("dialog")
      .getByRole("button", { name: "Stop", exact: true })
      .last()
      .click();
    await page.locator("article[data-status=cancelled]").waitFor();
    await counts(page.getByText("Allow bash to run?"), 0);
    await composer(page).waitFor();
  }),
);

test("the agent that is chosen is whose run it is", LIMIT, () =>
  scene(async (page) => {
    await ask("POST", "/admin/agents", { id: "chosen", title: "Chosen one" });
    await page.reload();
    await composer(page).waitFor();
    await page.getByLabel("Agent").selectOption("chosen");
    await say(page, "hello");
    await page.locator("[data-kind=run_end]").waitFor();
    const id = page.url().split("/").at(-1);
    const { runs } = await ask("GET", `/sessions/${id}/runs`);
    assert.deepEqual([...new Set(runs.map((run) => run.agent_id))], ["chosen"]);
  }),
);

test("a session's model settings are chosen at the start, shown and changed", LIMIT, () =>
  scene(async (page) => {
    await page.getByLabel("Max. answer length (tokens)").fill("900");
    await say(page, "hello");
    await page.locator("[data-kind=run_end]").waitFor();
    const id = page.url().split("/").at(-1);
    const head = page.locator("header", { has: page.getByRole("heading", { name: "hello" }) });
    await head.getByText("up to 900 tokens").waitFor();
    await page.getByRole("button", { name: "Session actions", exact: true }).click();
    await page.getByRole("menuitem", { name: "Model settings" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Max. answer length (tokens)").fill("");
    await dialog.getByLabel("Temperature").fill("0.2");
    assert.deepEqual(await axeOf(page), []);
    const folder = process.env.TOLLGATE_SHOTS;
    if (folder) await page.screenshot({ path: `${folder}/model-settings.png` });
    await dialog.getByRole("button", { name: "Save" }).click();
    await counts(dialog, 0);
    await head.getByText("temperature 0.2").waitFor();
    await counts(head.getByText("up to 900 tokens"), 0);
    const { model, max_tokens, temperature } = await ask("GET", `/sessions/${id}`);
    assert.deepEqual([model, max_tokens, temperature], [null, null, 0.2]);
  }),
);

const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAACgAAAAeCAIAAADRv8uKAAAAQklEQVR4nGP8//8/w0AApgGxddTiUYuHpcUs+KVPMjLik" +
  "TWnoAwYeUE9avGoxTQDjKP18ajFoxaPWjxq8ajFg85iAHS0CTf1EaI+AAAAAElFTkSuQmCC";

test(
  "[EVT-06] the stages of a call that is over are shown after a reload, from what is stored",
  LIMIT,
  () =>
    scene(async (page) => {
      await say(page, `run echo ${PICTURE} | base64 -d > spot.png`);
      await page.locator("[data-kind=run_end]").waitFor();
      const args = { name: "image-statistics", args: { image: "spot.png" } };
      await say(page, `call execute_skill ${JSON.stringify(args)}`);
      await page.locator("[data-kind=run_end]").nth(1).waitFor();
      await page.reload();
      const card = page.locator("article[data-call]").filter({ hasText: "execute_skill" });
      await card.getByRole("img").first().waitFor();
      await card.getByRole("button", { name: "Arguments and timing" }).click();
      const stages = card.getByRole("list", { name: "Steps" }).getByRole("listitem");
      await stages.nth(3).waitFor();
      await stages.locator("time").nth(3).waitFor();
    }),
);
