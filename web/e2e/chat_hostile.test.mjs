/** What models, tools and people write is text, wherever a page shows it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, counts, reads, say } from "./harness.mjs";
import { scene, service } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };
const MARKUP = "<img src=x onerror=window.hacked=1>";
const ESCAPES = "\u001b[2J\u001b]0;owned\u0007";
const TURNED = "safe\u202egpj.exe";

/** Nothing has run, been loaded or been turned round, and the page is no wider than its window. */
async function isInert(page, asked) {
  assert.equal(await page.evaluate(() => "hacked" in window), false);
  await counts(page.locator("main img, main script, main iframe"), 0);
  assert.equal(await page.title().then((title) => title.includes("owned")), false);
  const raw = await page.evaluate(() =>
    /[\u001b\u0007\u202a-\u202e\u2066-\u2069]/u.test(document.body.innerText),
  );
  assert.equal(raw, false, "a character that hides or turns text is drawn as it is");
  const foreign = asked.filter((url) => new URL(url).origin !== new URL(service.url).origin);
  assert.deepEqual(foreign, []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false);
}

for (const viewport of [
  { width: 1280, height: 800 },
  { width: 380, height: 740 },
]) {
  test(`a hostile command that waits is shown as it is: ${viewport.width} px`, LIMIT, () =>
    scene(
      async (page) => {
        const asked = [];
        page.on("request", (request) => asked.push(request.url()));
        const command = `rm -rf '${MARKUP}' ${"x".repeat(3000)}`;
        await say(page, `call bash ${JSON.stringify({ command })}`);
        const question = page.getByRole("region", { name: /bash/ });
        await question.getByText(MARKUP).first().waitFor();
        await question
          .getByRole("button", { name: /^Approve once/ })
          .and(page.locator(":enabled"))
          .waitFor();
        await isInert(page, asked);
        await page.keyboard.press("Control+Shift+Backspace");
        await page.locator("article[data-status=declined]").waitFor();
        // What hides or turns text is not even asked about.
        const turned = `rm -rf '${TURNED}' ${ESCAPES}`;
        await say(page, `call bash ${JSON.stringify({ command: turned })}`);
        const denied = page.locator("article[data-status=denied]");
        await denied.getByText("⟨202E⟩").first().waitFor();
        await isInert(page, asked);
      },
      { viewport },
    ),
  );
}

test("hostile words of a person and a model are inert in title, message and answer", LIMIT, () =>
  scene(async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await say(page, `${MARKUP} ${TURNED} ${"w".repeat(400)}`);
    await page.locator("[data-kind=run_end]").waitFor();
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.getByRole("listitem").filter({ hasText: MARKUP }).first().waitFor();
    await reads(() => page.getByRole("log").innerText(), /⟨202E⟩/);
    await isInert(page, asked);
  }),
);

test("colours of a terminal are drawn, and nothing else that it can do", LIMIT, () =>
  scene(async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    const codes = String.raw`printf 'kept\n\033[31mred\033[0m\nsecond\n\033[1A\033[2Kwiped\n\033[?1049h\033]8;;https://evil.example\007link\033]8;;\007\n\033[999999Cfar\r\033]52;c;aGk=\007end\n'`;
    await say(page, `call bash ${JSON.stringify({ command: codes })}`);
    await page.locator("[data-kind=run_end]").waitFor();
    const card = page.locator("article[data-status=success]");
    await card.getByRole("button", { expanded: false }).first().click();
    const output = card.getByRole("group", { name: "Output" });
    await output.getByText("kept").waitFor();
    for (const word of ["kept", "red", "wiped", "link", "end"]) {
      await reads(() => output.innerText(), new RegExp(word));
    }
    await counts(output.getByRole("link"), 0);
    await isInert(page, asked);
  }),
);

test("a table and JSON of a tool are text too", LIMIT, () =>
  scene(async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    const todos = [{ id: "1", content: `${MARKUP} ${TURNED}`, status: "pending" }];
    await say(page, `call todo ${JSON.stringify({ todos })}`);
    await page.locator("[data-kind=run_end]").waitFor();
    const file = { path: "notes.md", content: `# ${MARKUP}\n${TURNED}\n` };
    await say(page, `call write_file ${JSON.stringify(file)}`);
    await page.locator("[data-kind=run_end]").nth(1).waitFor();
    const folded = page.locator("article[data-call] > button[aria-expanded=false]");
    while ((await folded.count()) > 0) await folded.first().click();
    const log = page.getByRole("log");
    await log.getByText("⟨202E⟩").first().waitFor();
    await isInert(page, asked);
    await reads(() => composer(page).isEnabled(), true);
  }),
);
