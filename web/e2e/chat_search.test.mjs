/** Finding a session by what was said in it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, request, say } from "./harness.mjs";
import { scene, service } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };

async function talk(page, words) {
  await page.getByRole("link", { name: "New session" }).first().click();
  await page.getByText("What would you like to do?").waitFor();
  await say(page, words);
  await page.getByText(`You said: ${words}`, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop run" }).waitFor({ state: "detached" });
}

test("words that were said are found and marked, in Chinese too", LIMIT, () =>
  scene(async (page) => {
    await talk(page, "how to keep a sourdough starter alive");
    await talk(page, "怎么做面包和蛋糕");
    await talk(page, "<mark>plain</mark> matters");
    const list = page.getByRole("navigation", { name: "Sessions" });
    const search = page.getByLabel("Search sessions");

    await search.fill("SAID sourdough");
    await list.locator("mark", { hasText: "sourdough" }).first().waitFor();
    await list.locator("mark", { hasText: "said" }).waitFor();
    await counts(list.getByRole("link"), 1);

    await search.fill("面包");
    await list.locator("mark", { hasText: "面包" }).first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll("nav li a").length === 1);

    await search.fill("<mark>plain");
    await list.locator("mark", { hasText: "<mark>plain" }).first().waitFor();

    await search.fill("no such thing was said");
    await list.getByText("No titles or messages match.").waitFor();
    await search.fill("sourdough");
    await list.getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByText("You said: how to keep a sourdough starter alive").first().waitFor();
  }),
);

test("a find far up in a long session is shown, and stays in view", LIMIT, () =>
  scene(async (page) => {
    await talk(page, "the rare quokka");
    for (let turn = 0; turn < 12; turn += 1) {
      const words = `turn ${turn} ${"word ".repeat(120)}`.trim();
      await say(page, words);
      await page.getByText(`You said: turn ${turn} `).first().waitFor();
      await page.getByRole("button", { name: "Stop run" }).waitFor({ state: "detached" });
    }
    await page.getByRole("link", { name: "New session" }).first().click();
    await page.getByText("What would you like to do?").waitFor();
    await page.getByLabel("Search sessions").fill("quokka");
    const list = page.getByRole("navigation", { name: "Sessions" });
    // What was listed before stays until the answer is there.
    await page.waitForFunction(() => document.querySelectorAll("nav li a").length === 1);
    await list.getByRole("link").click();
    const sought = page.locator("[data-sought]");
    await sought.getByText("quokka").waitFor();
    const inView = () => {
      const box = document.querySelector("[data-sought]")?.getBoundingClientRect();
      const view = document.querySelector("[role=log]").getBoundingClientRect();
      return box !== undefined && box.top >= view.top - 1 && box.bottom <= view.bottom + 1;
    };
    await page.waitForFunction(inView);
    await page.getByRole("button", { name: "Jump to latest" }).waitFor();
    await page.waitForFunction(inView);
  }),
);

test("a find on another branch is told, and leads to that branch", LIMIT, () =>
  scene(async (page) => {
    await talk(page, "the lost walrus");
    await page.getByRole("button", { name: "Edit and resend" }).first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Your message" }).fill("the found otter");
    await page.keyboard.press("Enter");
    await page.getByText("You said: the found otter", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop run" }).waitFor({ state: "detached" });

    const list = page.getByRole("navigation", { name: "Sessions" });
    await page.getByLabel("Search sessions").fill("walrus");
    await list.getByText("on another branch:").first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll("nav li a").length === 1);
    await list.getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByText("This search result is on another branch of the session.").waitFor();
    await page.getByText("You said: the found otter", { exact: true }).waitFor();

    await page.getByRole("button", { name: "Go to branch" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("[data-sought]").getByText("walrus").waitFor();
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Go to branch" }).waitFor({ state: "detached" });
    await list.getByText("on another branch:").first().waitFor({ state: "detached" });

    await page.getByLabel("Search sessions").fill("otter");
    await list.getByText("on another branch:").first().waitFor();
  }),
);

test(
  "a long session is shown from its end; what is earlier comes when it is asked for",
  LIMIT,
  () =>
    scene(async (page) => {
      await talk(page, "the first words of all");
      const id = page.url().split("/").at(-1);
      for (let batch = 0; batch < 10; batch += 1) {
        const calls = Array.from({ length: 20 }, (_, number) => ({
          name: "calculator",
          arguments: { expression: `${batch}*100+${number}` },
        }));
        await request(service, "POST", "/tools/calls", { calls, session_id: id });
      }
      let loaded = 0;
      page.on("response", async (response) => {
        if (!response.url().includes(`/${id}/events?`)) return;
        loaded += (await response.json()).events.length;
      });
      await page.reload();
      const first = page.getByText("You said: the first words of all", { exact: true });
      const earlier = page.getByRole("button", { name: "Load earlier messages" });
      await earlier.waitFor();
      await counts(first, 0);
      assert.equal(loaded, 300);

      // Live events join what is shown.
      const last = page.locator("[data-kind=message]", { hasText: "the last words" }).first();
      await say(page, "the last words");
      await last.waitFor();
      await page.getByRole("button", { name: "Stop run" }).waitFor({ state: "detached" });

      await earlier.click();
      await earlier.waitFor({ state: "detached" });
      const more = page.getByRole("button", { name: /^Show earlier messages/ });
      while ((await more.count()) > 0) await more.click();
      await first.waitFor();
      await counts(last, 1);
    }),
);
