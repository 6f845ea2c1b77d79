/** What somebody reads in a long session stays where it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, reads } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };

test(
  "a session of ten thousand events opens, and draws what is near its end",
  {
    timeout: 300_000,
  },
  () =>
    scene(async (page) => {
      const id = await sessionOfCalls(40);
      assert.ok((await ask("GET", `/sessions/${id}/events?limit=1`)).head >= 10_000);
      const begun = performance.now();
      await page.goto(`${service.url}/chat/${id}`);
      const earlier = page.getByRole("button", { name: /^(Load|Show) earlier/ });
      await earlier.waitFor();
      console.log(`opened after ${Math.round(performance.now() - begun)} ms`);
      const drawn = await page.locator("[data-kind]").count();
      assert.ok(drawn > 0 && drawn <= 150, `${drawn} entries are drawn`);
      const log = page.getByRole("log");
      const kept = await firstEntry(page);
      for (const upto of [200, 400]) {
        await log.evaluate((box) => box.scrollTo(0, 0));
        const place = await topOf(kept);
        await earlier.click();
        await page.locator("[data-kind]").nth(upto).waitFor();
        await staysAt(kept, place);
      }
      await page.getByRole("button", { name: "Jump to latest" }).click();
      await page.waitForFunction(
        (box) => box.scrollTop + box.clientHeight > box.scrollHeight - 40,
        await log.elementHandle(),
      );
      await composer(page).fill("still here");
      await reads(() => composer(page).inputValue(), "still here");
    }),
);

test("what loads without being asked for comes above what is read", LIMIT, () =>
  scene(async (page) => {
    const id = await sessionOfCalls(3);
    const { leaf_entry_id } = await ask("GET", `/sessions/${id}/messages`);
    // The page loads earlier events immediately if the session has branches.
    await ask("POST", `/sessions/${id}/branch`, { entry_id: leaf_entry_id });
    let release;
    const released = new Promise((resolve) => {
      release = resolve;
    });
    await page.route(/\/events\?.*after=/, async (route) => {
      await released;
      await route.continue();
    });
    await page.goto(`${service.url}/chat/${id}`);
    await page.getByRole("button", { name: /^Load earlier/ }).waitFor();
    await page.getByRole("log").evaluate((box) => box.scrollTo(0, 0));
    const kept = await firstEntry(page);
    const place = await topOf(kept);
    release();
    await page.getByRole("button", { name: /^Show earlier/ }).waitFor();
    await staysAt(kept, place);
  }),
);

test("somebody scrolls up in the moment in which something is added below", LIMIT, () =>
  scene(async (page) => {
    const id = await sessionOfCalls(1);
    await page.goto(`${service.url}/chat/${id}`);
    const log = page.getByRole("log");
    await page.locator("[data-kind]").nth(20).waitFor();
    await reads(() => log.evaluate((box) => box.scrollTop > 400), true);
    const place = await log.evaluate(async (box) => {
      box.lastElementChild.append(Object.assign(document.createElement("p"), { textContent: "…" }));
      box.scrollTop -= 300;
      // What is in the middle, as the place itself changes with what is drawn above.
      const { top, left, width, height } = box.getBoundingClientRect();
      const found = document.elementFromPoint(left + width / 2, top + height / 2);
      const entry = found.closest("[data-kind]") ?? found;
      const before = entry.getBoundingClientRect().top;
      for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
      return entry.getBoundingClientRect().top - before;
    });
    assert.ok(Math.abs(place) < 60, `moved by ${place} pixels`);
    await page.getByRole("button", { name: "Jump to latest" }).click();
    await reads(
      () => log.evaluate((box) => box.scrollTop + box.clientHeight > box.scrollHeight - 40),
      true,
    );
  }),
);

const topOf = (entry) => entry.evaluate((box) => Math.round(box.getBoundingClientRect().top));
const staysAt = (entry, place) =>
  reads(async () => Math.abs((await topOf(entry)) - place) < 60, true);

/** The first entry that is drawn now; the locator stays with it. */
async function firstEntry(page) {
  const id = await page.locator("[data-entry]").first().getAttribute("data-entry");
  return page.locator(`[data-entry="${id}"]`);
}

/** A session with batches of 128 calls each. */
async function sessionOfCalls(batches) {
  const { id } = await ask("POST", "/sessions", { title: "Long" });
  for (let batch = 0; batch < batches; batch += 1) {
    const calls = Array.from({ length: 128 }, (_, index) => ({
      name: "calculator",
      // What fails is not folded away.
      arguments: { expression: index % 2 === 0 ? `${batch} + ${index}` : `${index} / 0` },
    }));
    await ask("POST", "/tools/calls", { session_id: id, calls });
  }
  return id;
}
