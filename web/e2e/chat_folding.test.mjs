/** Calls that went well fold together; what did not stays in sight. */
import { test } from "node:test";
import { counts, reads } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const count = (expression) => ({ name: "calculator", arguments: { expression } });

test("a fold opens by keyboard, keeps open, and leaves failures outside", {
  timeout: 90_000,
}, async () => {
  await scene(async (page) => {
    const { id } = await ask("POST", "/sessions", { title: "Many calls" });
    await page.goto(`${service.url}/chat/${id}`);
    await page.getByRole("log").waitFor();
    // One after another: a batch runs side by side, and may tell of them in any order.
    for (const sum of ["1 + 1", "2 + 2", "3 + 3", "1 / 0"]) {
      await ask("POST", "/tools/calls", { session_id: id, calls: [count(sum)] });
    }
    await ask("POST", "/tools/calls", {
      session_id: id,
      calls: [count("4 + 4"), count("5 + 5"), count("6 + 6")],
    });
    const fold = page.getByRole("button", { name: /^Used 3 tools/ });
    await fold.waitFor();
    await counts(page.locator("article[data-status=error]"), 1);
    await reads(() => fold.getAttribute("aria-expanded"), "false");
    await fold.focus();
    await page.keyboard.press("Enter");
    const inside = page.locator("section article[data-status=success]");
    await inside.nth(2).waitFor();
    await inside.first().getByRole("button", { expanded: false }).first().click();
    await inside.first().getByText("Arguments and timing").waitFor();
    await counts(inside, 3);
    await fold.press(" ");
    await inside.first().waitFor({ state: "detached" });
    await fold.press(" ");
    // A card that somebody has opened is open again.
    await inside.first().getByText("Arguments and timing").waitFor();
  });
});
