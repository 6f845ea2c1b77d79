/** The chat in a real browser, against the real service and a scripted model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { composer, counts, reads, say, startWire } from "./harness.mjs";
import { ask, browser, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };
const ended = (page, count = 1) =>
  page
    .locator("[data-kind=run_end]")
    .nth(count - 1)
    .waitFor();
const call = (page, status, at = 0) => page.locator(`article[data-status=${status}]`).nth(at);
const ready = (page) =>
  page
    .getByRole("button", { name: /^Approve once/ })
    .and(page.locator(":enabled"))
    .waitFor();

test("a message is answered, and the words come as they are written", LIMIT, () =>
  scene(async (page) => {
    await say(page, "half please");
    const draft = page.getByTestId("draft");
    await draft.getByText("The first half,", { exact: true }).waitFor();
    await service.goOn();
    await ended(page);
    await counts(draft, 0);
    await counts(page.getByText("The first half, and the other half."), 1);
    await page.getByRole("button", { name: "Reasoning" }).click();
    await page.getByText("Where was I?").waitFor();
  }),
);

test("an answer in Markdown is drawn as such", LIMIT, () =>
  scene(async (page) => {
    await say(page, "essay please");
    await ended(page);
    await counts(page.getByRole("heading", { name: "A tollgate for tools" }), 1);
    await counts(page.getByText("essay please", { exact: true }).and(page.locator("p")), 1);
    await counts(page.getByRole("row"), 3);
  }),
);

test("a command's output is on its card", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run echo one; echo two");
    await ended(page);
    const card = call(page, "success");
    await card.getByRole("button", { expanded: false }).first().click();
    await card.getByText("one\ntwo").waitFor();
  }),
);

test("a person approves and declines by keyboard alone, and nothing is preselected", LIMIT, () =>
  scene(async (page) => {
    await say(page, "two");
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await ready(page);
    const focused = await page.evaluate(() => document.activeElement?.tagName);
    assert.equal(focused, "TEXTAREA");
    await page.keyboard.press("Control+Shift+Backspace");
    await call(page, "declined").waitFor();
    await ready(page);
    await page.getByText("git push --force").first().waitFor();
    await page.keyboard.press("Control+Enter");
    await ended(page);
    await counts(call(page, "declined"), 1);
    await counts(call(page, "waiting"), 0);
  }),
);

test("the key on the badge approves while a message is written, and leaves it there", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run rm -rf written");
    await ready(page);
    await composer(page).fill("half a thought");
    await page.keyboard.press("Control+Enter");
    await ended(page);
    await counts(call(page, "success"), 1);
    await counts(page.getByText("half a thought").and(page.locator("p")), 0);
    assert.equal(await composer(page).inputValue(), "half a thought");
  }),
);

test("a decline takes its reason along, and edited arguments are what runs", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run rm -rf first");
    await ready(page);
    await page.getByLabel(/^Reason for declining/).fill("It is still needed");
    await page.getByRole("button", { name: /^Decline/ }).click();
    await ended(page);
    await say(page, "run rm -rf second");
    await ready(page);
    await page.getByRole("button", { name: "Edit arguments" }).click();
    await page.getByLabel("Arguments", { exact: true }).fill('{"command": "echo instead"}');
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await ended(page, 2);
    const card = call(page, "success");
    await card.getByRole("button", { expanded: false }).first().click();
    await card.getByRole("group", { name: "Output" }).getByText("instead").waitFor();
  }),
);

test("a reload in the middle of a confirmation loses nothing", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run rm -rf reloaded");
    await ready(page);
    await page.reload();
    await ready(page);
    await counts(call(page, "waiting"), 1);
    await page.keyboard.press("Control+Enter");
    await ended(page);
    await counts(call(page, "success"), 1);
  }),
);

test("two tabs see the same, and the first answer settles it for both", LIMIT, () =>
  scene(async (page, context) => {
    await say(page, "run rm -rf shared");
    await ready(page);
    const other = await context.newPage();
    await other.goto(page.url());
    await ready(other);
    await other.getByRole("button", { name: /^Decline/ }).click();
    await page.getByText("Declined by ann: bash: rm -rf shared").waitFor();
    await counts(other.getByText("Declined by ann: bash: rm -rf shared"), 0);
    await Promise.all([ended(page), ended(other)]);
    for (const tab of [page, other]) {
      await counts(call(tab, "declined"), 1);
      await counts(tab.getByRole("button", { name: /^Approve once/ }), 0);
    }
    await say(other, "hello from the other tab");
    await page.getByText("You said: hello from the other tab").waitFor();
    await counts(page.getByText("hello from the other tab", { exact: true }), 1);
  }),
);

test("a question is answered, with an offered answer and in one's own words", LIMIT, () =>
  scene(async (page) => {
    await say(page, "ask");
    // Who asks is not at work.
    await call(page, "waiting").getByText("Awaiting an answer").waitFor();
    await counts(call(page, "running"), 0);
    await page.getByLabel("Blue").check();
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await ended(page);
    await say(page, "ask");
    await page.getByLabel("Your answer").fill("Green, rather");
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await ended(page, 2);
    await counts(call(page, "success"), 1);
    await counts(call(page, "success", 1), 1);
  }),
);

test("a tool is run by a slash command, from a form", LIMIT, () =>
  scene(async (page) => {
    await composer(page).fill("/calcul");
    await page.getByRole("option", { name: /calculator/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByLabel("expression").fill("6 * 7");
    await page.keyboard.press("Enter");
    await call(page, "success").waitFor();
    await page.getByText("42").first().waitFor();
  }),
);

test("a run is stopped", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run echo begun; exec sleep 600");
    await page.locator("article").getByText("begun", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop run" }).click();
    await call(page, "cancelled").waitFor();
    await page.getByText("Run stopped").waitFor();
  }),
);

test("a lost connection loses nothing and doubles nothing", LIMIT, async () => {
  const wire = await startWire(service.url);
  try {
    await scene(
      async (page) => {
        const rest = "until [ -e go-on ]; do sleep 0.1; done; seq -f 'line %g' 2 6";
        await say(page, `run echo line 1; ${rest}`);
        await page.locator("article").getByText("line 1", { exact: true }).waitFor();
        wire.cut();
        await page.getByText(/^Connection lost/).waitFor();
        // The other lines come while nobody is connected.
        await ask("POST", "/tools/write_file/call", {
          arguments: { path: "go-on", content: "now" },
        });
        await composer(page).fill("hello afterwards");
        await composer(page).press("Enter");
        wire.mend();
        await page.getByText("You said: hello afterwards").waitFor();
        await page.getByText(/^Connection lost/).waitFor({ state: "detached" });
        const card = call(page, "success");
        await card.getByRole("button", { expanded: false }).first().click();
        const output = card.getByRole("group", { name: "Output" });
        const lines = [1, 2, 3, 4, 5, 6].map((n) => `line ${n}`).join("\n");
        await reads(async () => (await output.innerText()).trim(), lines);
        await counts(page.locator("article[data-call]"), 1);
        await counts(page.getByText("hello afterwards", { exact: true }), 1);
      },
      { url: wire.url },
    );
  } finally {
    wire.stop();
  }
});

test("hostile words and output are inert", LIMIT, () =>
  scene(async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await say(page, "hostile");
    await ended(page);
    const card = call(page, "success");
    await card.getByRole("button", { expanded: false }).first().click();
    const output = card.getByRole("group", { name: /Output|Result/ }).first();
    await output.getByText("<script>window.hacked=1</script>").waitFor();
    await output.getByText("⟨202E⟩").waitFor();
    assert.equal(await page.evaluate(() => "hacked" in window), false);
    await counts(page.locator("main img, main script"), 0);
    await counts(page.locator('a[href^="javascript"]'), 0);
    const foreign = asked.filter((url) => new URL(url).origin !== new URL(service.url).origin);
    assert.deepEqual(foreign, []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false);
  }),
);

test("sessions are found, renamed, and lead back to what was said", LIMIT, () =>
  scene(async (page) => {
    await say(page, "remember the milk");
    await ended(page);
    const list = page.getByRole("navigation", { name: "Sessions" });
    const entry = list.getByRole("listitem").filter({ hasText: "remember the milk" });
    await entry.hover();
    await entry.getByRole("button", { name: /^Rename/ }).click();
    await page.getByLabel("Title").fill("Shopping");
    await page.keyboard.press("Enter");
    await list.getByRole("link", { name: "Shopping" }).waitFor();
    await page.getByRole("link", { name: "New session" }).first().click();
    await page.getByText("What would you like to do?").waitFor();
    await page.getByLabel("Search sessions").fill("shop");
    await list.getByRole("link", { name: "Shopping" }).click();
    await page.getByText("You said: remember the milk").waitFor();
  }),
);

test("the first load is small, and comes from the service alone", LIMIT, () =>
  scene(async (page) => {
    const bodies = [];
    page.on("response", (answer) => {
      if (!answer.url().includes("/api/"))
        bodies.push(answer.body().then((body) => [answer.url(), body]));
    });
    await page.reload();
    await composer(page).waitFor();
    const loaded = await Promise.all(bodies);
    const size = loaded.reduce((sum, [, body]) => sum + gzipSync(body, { level: 9 }).length, 0);
    console.log(`first load: ${loaded.length} files, ${Math.round(size / 1024)} KB packed`);
    assert.ok(size <= 300 * 1024, `${size} bytes`);
    assert.ok(loaded.every(([url]) => url.startsWith(service.url)));
  }),
);

test("a sub-agent's work stands inside of the call that delegated", LIMIT, () =>
  scene(async (page) => {
    await say(page, 'call delegate_task {"goal": "run echo twelve files"}');
    await ended(page);
    const outer = page.locator("article[data-call]").first();
    await outer.locator("article[data-call]").getByText("bash: echo twelve files").waitFor();
    await counts(page.locator("[data-kind=call]"), 1);
  }),
);

test("a tool that is switched off is refused in a session that runs, and says why", LIMIT, () =>
  scene(async (page) => {
    const change = (enabled) => ask("PATCH", "/tools/calculator", { enabled });
    const count = 'call calculator {"expression": "6 * 7"}';
    await say(page, count);
    await ended(page);
    await call(page, "success").waitFor();
    try {
      await change(false);
      await say(page, count);
      await ended(page, 2);
      await call(page, "disabled").getByText("Disabled").first().waitFor();
    } finally {
      await change(true);
    }
  }),
);

test("who is not signed in sees nothing, and a wrong token is told so", LIMIT, async () => {
  const context = await browser.newContext({ locale: "en-GB" });
  try {
    const page = await context.newPage();
    await page.goto(`${service.url}/chat`);
    await page.getByLabel("Access token").fill("tg_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("Sign in with a valid token.").waitFor();
    await counts(page.getByRole("navigation", { name: "Sessions" }), 0);
  } finally {
    await context.close();
  }
});

test("signing out ends it everywhere at once", LIMIT, () =>
  scene(async (page, context) => {
    const other = await context.newPage();
    await other.goto(service.url);
    await composer(other).waitFor();
    await page.getByRole("button", { name: /Account and appearance/ }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").waitFor();
    await other.getByLabel("Access token").waitFor();
  }),
);
