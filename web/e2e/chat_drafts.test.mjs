/** What somebody has begun to write is nowhere lost. */
import { test } from "node:test";
import { composer, reads, say } from "./harness.mjs";
import { scene } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };

async function begin(page, words) {
  await page.getByRole("link", { name: "New session" }).first().click();
  await page.getByText("What would you like to do?").waitFor();
  await say(page, words);
  await page.getByText(`You said: ${words}`, { exact: true }).waitFor();
}

test("unsent words wait in the session in which they were begun", LIMIT, () =>
  scene(async (page) => {
    await begin(page, "first");
    await begin(page, "second");
    const list = page.getByRole("navigation", { name: "Sessions" });
    await composer(page).fill("a thought begun");
    await list.getByRole("link", { name: "first" }).click();
    await page.getByText("You said: first", { exact: true }).waitFor();
    await reads(() => composer(page).inputValue(), "");
    await page.getByRole("link", { name: "Admin" }).click();
    await list.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Chat" }).click();
    await list.getByRole("link", { name: "second" }).click();
    await page.getByText("You said: second", { exact: true }).waitFor();
    await reads(() => composer(page).inputValue(), "a thought begun");
    await composer(page).press("Enter");
    await page.getByText("You said: a thought begun", { exact: true }).waitFor();
    await reads(() => composer(page).inputValue(), "");
  }),
);

test("a first message comes back when no session can be begun", LIMIT, () =>
  scene(
    async (page) => {
      const sessions = (url) => url.pathname === "/api/v1/sessions";
      let release;
      const held = new Promise((resolve) => {
        release = resolve;
      });
      await page.route(sessions, async (route) => {
        if (route.request().method() !== "POST") return route.continue();
        await held;
        await route.fulfill({
          status: 503,
          contentType: "application/problem+json",
          body: JSON.stringify({ code: "storage_unavailable", detail: "The disk is full" }),
        });
      });
      await say(page, "do not lose me");
      await page.waitForFunction(() => document.querySelector("[data-composer]")?.value === "");
      await composer(page).pressSequentially("nor me");
      release();
      await page.waitForFunction(
        () => document.querySelector("[data-composer]")?.value === "do not lose me\nnor me",
      );
      await page.unroute(sessions);
      await composer(page).press("Enter");
      await page.getByText("You said: do not lose me").waitFor();
    },
    { allowed: /status of 503/ },
  ),
);

test("what is written while a session is begun goes along into it", LIMIT, () =>
  scene(async (page) => {
    let release;
    const held = new Promise((resolve) => {
      release = resolve;
    });
    await page.route(
      (url) => url.pathname === "/api/v1/sessions",
      async (route) => {
        if (route.request().method() === "POST") await held;
        await route.continue();
      },
    );
    await say(page, "begin");
    await page.waitForFunction(() => document.querySelector("[data-composer]")?.value === "");
    await composer(page).pressSequentially("and then");
    release();
    await page.getByText("You said: begin", { exact: true }).waitFor();
    await reads(() => composer(page).inputValue(), "and then");
    await page.getByRole("link", { name: "New session" }).first().click();
    await page.getByText("What would you like to do?").waitFor();
    await reads(() => composer(page).inputValue(), "");
  }),
);
