/** Browsers that are signed in: seen behind one's name, and signed out one by one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, counts, signedIn } from "./harness.mjs";
import { ask, browser, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };

test("a browser that was left somewhere is signed out from another one", LIMIT, async () => {
  const left = await signedIn(browser, service, { locale: "en-GB" });
  try {
    await scene(async (page) => {
      await page.getByRole("button", { name: /Account and appearance/ }).press("Enter");
      await page.getByRole("button", { name: "Browser sessions" }).press("Enter");
      const dialog = page.getByRole("dialog", { name: "Browser sessions" });
      await dialog.getByText("This browser").waitFor();
      await counts(dialog.getByRole("row"), 3);
      assert.deepEqual(await axeOf(page), []);

      await dialog.getByRole("button", { name: /^Sign out the browser of ann/ }).press("Enter");
      await page.getByText("Browser signed out").waitFor();
      await left.page.getByLabel("Access token").waitFor();
      await dialog.getByRole("row").nth(2).waitFor({ state: "detached" });
      await dialog.getByText("This browser").waitFor();
      await counts(dialog.getByRole("row"), 2);

      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      assert.equal((await ask("GET", "/logins")).logins.length, 1);
    });
  } finally {
    await left.context.close();
  }
});

test("an administrator sees everybody's browsers and signs one out", LIMIT, async () => {
  const bob = await signedIn(browser, { ...service, token: service.other }, { locale: "en-GB" });
  try {
    await scene(async (page) => {
      await page.goto(`${service.url}/admin/tokens`);
      const section = page.getByRole("region", { name: "Browser sessions" });
      await section.getByRole("button", { name: /^Sign out the browser of bob/ }).click();
      await bob.page.getByLabel("Access token").waitFor();
      await section.getByRole("cell", { name: "bob" }).waitFor({ state: "detached" });
    });
  } finally {
    await bob.context.close();
  }
});
