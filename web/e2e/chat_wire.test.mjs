/** What comes over the wire: nothing for a while, or far too much. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, counts, reads, say, startWire } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 150_000 };
const AWAY_MS = 10_000;
const LINE = 5_000_000;

test("ten seconds without a connection lose nothing and double nothing", LIMIT, async () => {
  const wire = await startWire(service.url);
  try {
    await scene(
      async (page) => {
        page.setDefaultTimeout(60_000);
        const lines = Array.from({ length: 24 }, (_, index) => `line ${index + 1}`);
        await say(
          page,
          `run for i in ${lines.map((_, index) => index + 1).join(" ")}; do echo line $i; sleep 0.5; done`,
        );
        await page
          .locator("article")
          .getByRole("group")
          .getByText(/line 2/)
          .waitFor();
        wire.cut();
        await page.getByText(/^Connection lost/).waitFor();
        await say(page, "said while away");
        await page.getByText("Sending…").waitFor();
        // Some attempts to connect fail meanwhile, and the pauses between them grow.
        await page.waitForTimeout(AWAY_MS);
        await counts(page.getByText("Sending…"), 1);
        wire.mend();
        await page.getByText("You said: said while away").waitFor();
        await page.getByText(/^Connection lost/).waitFor({ state: "detached" });
        const log = page.getByRole("log");
        await counts(log.getByText("said while away", { exact: true }), 1);
        await counts(page.getByText("Sending…"), 0);
        const card = page.locator("article[data-status=success]");
        await card.getByRole("button", { expanded: false }).first().click();
        const output = card.getByRole("group", { name: "Output" });
        await reads(async () => (await output.innerText()).trim(), lines.join("\n"));
        await counts(page.locator("article[data-call]"), 1);
      },
      { url: wire.url },
    );
  } finally {
    wire.stop();
  }
});

/** The answer of the scene `half`, which stops in its middle. */
async function answeredOnce(page) {
  const whole = page.getByText("The first half, and the other half.", { exact: true });
  await page.locator("[data-kind=run_end]").waitFor();
  await counts(whole, 1);
  await counts(page.getByText(/The first half,/), 1);
  await counts(page.getByTestId("draft"), 0);
}

const firstHalf = (page) =>
  page.getByTestId("draft").getByText("The first half,", { exact: true }).waitFor();

for (const [name, isAway] of [
  ["goes on while nobody is there", true],
  ["goes on when the page is there again", false],
]) {
  test(`an answer that is cut in its middle and ${name} comes once`, LIMIT, async () => {
    const wire = await startWire(service.url);
    try {
      await scene(
        async (page) => {
          await say(page, "half please");
          await firstHalf(page);
          wire.cut();
          await page.getByText(/^Connection lost/).waitFor();
          if (isAway) {
            await service.goOn();
            await ended(page.url().split("/").at(-1));
          }
          wire.mend();
          await page.getByText(/^Connection lost/).waitFor({ state: "detached" });
          if (!isAway) {
            await firstHalf(page);
            await service.goOn();
          }
          await answeredOnce(page);
        },
        { url: wire.url },
      );
    } finally {
      wire.stop();
    }
  });
}

test("an answer is read where its drawing cannot be loaded, and drawn once it can", LIMIT, () =>
  scene(
    async (page) => {
      let refused = 0;
      await page.route(/\/assets\/Markdown-.*\.js$/, (route) => {
        refused += 1;
        return refused === 1 ? route.abort("connectionfailed") : route.continue();
      });
      await say(page, "essay please");
      await page.getByRole("heading", { name: "A tollgate for tools" }).waitFor();
      assert.ok(refused >= 2);
    },
    { allowed: /Failed to load/ },
  ),
);

test("a reload in the middle of an answer shows what was written, and the rest", LIMIT, () =>
  scene(async (page) => {
    await say(page, "half please");
    await firstHalf(page);
    await page.reload();
    await firstHalf(page);
    await service.goOn();
    await answeredOnce(page);
  }),
);

/** The service has come to the end of the session's run, whoever watches. */
async function ended(sessionId) {
  for (;;) {
    const { messages } = await ask("GET", `/sessions/${sessionId}/messages`);
    if (JSON.stringify(messages).includes("the other half")) return;
  }
}

test("a line of 5 MB is inert, and the page takes little of it", LIMIT, async () => {
  await scene(async (page) => {
    page.setDefaultTimeout(60_000);
    await page.evaluate(() => {
      globalThis.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) {
          globalThis.longest = Math.max(globalThis.longest, duration);
        }
      }).observe({ type: "longtask", buffered: true });
    });
    await say(
      page,
      `run printf '<img src=x onerror=window.hacked=1>'; head -c ${LINE} /dev/zero | tr '\\0' 'x'; echo`,
    );
    // Words can be written while it comes; the first message leads to a page of its own.
    await page.locator("article[data-call]").waitFor();
    await composer(page).fill("still here");
    await page.locator("[data-kind=run_end]").waitFor();
    await reads(() => composer(page).inputValue(), "still here");
    const card = page.locator("article[data-status=success]");
    await card.getByRole("button", { expanded: false }).first().click();
    await card
      .getByText(/^<img src=x/)
      .first()
      .waitFor();
    await card.getByRole("link", { name: /^Full output/ }).waitFor();
    const drawn = await page.evaluate(() => document.body.textContent.length);
    assert.ok(drawn < 100_000, `${drawn} characters are drawn`);
    const folds = card.getByRole("button", { name: /^Show all/ });
    while ((await folds.count()) > 0) await folds.first().click();
    const all = await page.evaluate(() => document.body.textContent.length);
    assert.ok(all < 300_000, `${all} characters are drawn`);
    assert.equal(await page.evaluate(() => "hacked" in window), false);
    await counts(page.locator("main img"), 0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false);
    const longest = await page.evaluate(() => globalThis.longest);
    console.log(`longest task: ${Math.round(longest)} ms; ${drawn}, then ${all} characters drawn`);
  });
});
