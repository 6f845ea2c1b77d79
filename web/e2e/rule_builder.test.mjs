/** A rule is made from a call, a past decision or words, with its effect shown while it is written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, counts, reads, say } from "./harness.mjs";
import { ask, scene, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const reach = (page) => page.getByTestId("reach");
const word = (page, position) => page.getByLabel(`Word ${position}`, { exact: true });
const open = (page, path) => page.goto(`${service.url}/admin/${path}`);
const decision = (page, word) => page.locator("form label").getByText(word, { exact: true });
const save = (page) => page.getByRole("button", { name: "Save" });
const run = (command) => ask("POST", "/tools/bash/call", { arguments: { command } });

test(
  "a rule from a recent call, widened word by word, shows what it matches and nearly matches",
  LIMIT,
  () =>
    sceneWithRefusals(async (page) => {
      for (const command of ["echo hello world", "echo hello", "printf hello"]) await run(command);
      await open(page, "rules/new");
      const recent = page.getByLabel("Recent call");
      const call = recent.locator("option", { hasText: "bash echo hello world" });
      await call.waitFor({ state: "attached" });
      await recent.selectOption(await call.getAttribute("value"));
      await reads(() => word(page, 3).inputValue(), "world");
      await decision(page, "Deny").click();
      await page.getByLabel("Note").fill("Silence is golden.");
      await reach(page)
        .getByText(/^Matches 1 of the last \d+ calls and changes 1\.$/)
        .waitFor();
      await reach(page).getByText("differs in: the command").first().waitFor();
      await page.getByLabel("How word 3 may vary").selectOption("any words");
      await reach(page)
        .getByText(/^Matches 2 of the last \d+ calls and changes 2\.$/)
        .waitFor();
      assert.deepEqual(await axeOf(page), []);
      await save(page).click();
      const row = page.getByRole("row").filter({ hasText: "echo hello" });
      await row.getByText("Everyone").waitFor();
      await row.getByText("Never").waitFor();
      await row.getByText("Not used yet").waitFor();
      assert.deepEqual(await axeOf(page), []);
      const { rules } = await ask("GET", "/admin/rules");
      assert.deepEqual(rules[0].definition.match, { argv: ["echo", "hello", "..."] });
      await row.getByRole("link").first().click();
      await reads(() => word(page, 2).inputValue(), "hello");
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("link", { name: "New rule" }).waitFor();
      await counts(row, 0);
    }),
);

test("why a rule has no effect is said in place, with a link to the rule in its way", LIMIT, () =>
  scene(async (page) => {
    await run("ls shadowed");
    const wide = await ask("POST", "/admin/rules", {
      tool: "bash",
      decision: "deny",
      justification: "Nothing is listed.",
      match: { argv: ["ls", "..."] },
    });
    await open(page, "rules/new");
    await decision(page, "Allow").click();
    await page.getByRole("button", { name: "Add word" }).click();
    await word(page, 1).fill("ls");
    await page.getByRole("button", { name: "Add word" }).click();
    await word(page, 2).fill("shadowed");
    await reach(page)
      .getByText(/^No effect so far: it matches 1 of/)
      .waitFor();
    await reach(page).getByText("A stricter rule covers everything it matches:").waitFor();
    await reach(page).getByText("Denied by the rule").waitFor();
    const link = reach(page)
      .getByRole("link", { name: /^Deny bash ls \.\.\.$/i })
      .first();
    assert.match(await link.getAttribute("href"), new RegExp(`${wide.id}$`));
    assert.doesNotMatch(await reach(page).innerText(), /rul_/);
    await ask("DELETE", `/admin/rules/${wide.id}`);
  }),
);

test("form and JSON stay in step, and nothing that the form cannot show is lost", LIMIT, () =>
  scene(async (page) => {
    await open(page, "rules/new");
    await page.getByRole("tab", { name: "JSON" }).click();
    const json = page.getByLabel("Definition (JSON)");
    const given = {
      tool: "bash",
      decision: "ask",
      justification: "Look first.",
      match: {
        argv: ["curl", { any_of: ["-s", "-v"] }, "..."],
        urls: [{ host: "*.example.org" }, { scheme: "https", host: "x.org", port: 8443 }],
        fields: { timeout: { range: { max: 5 } } },
      },
      examples: { not_match: ["wget x"] },
    };
    await json.fill(JSON.stringify(given));
    await page.getByRole("tab", { name: "Form" }).click();
    await reads(() => word(page, 2).inputValue(), "-s, -v");
    await reads(() => page.getByLabel("Hosts").inputValue(), "*.example.org");
    await page
      .getByTestId("json-only")
      .getByText(/fields, urls, examples/)
      .waitFor();
    await page.getByLabel("Hosts").fill("example.net");
    await page.getByLabel("Applies to").selectOption("One project");
    await page.getByLabel("Project").fill("default");
    await page.getByLabel("Expires").selectOption("In 30 days");
    await page.getByRole("tab", { name: "JSON" }).click();
    const shown = JSON.parse(await json.inputValue());
    assert.ok(Date.parse(shown.expires_at) > Date.now() + 29 * 86_400_000);
    delete shown.expires_at;
    assert.deepEqual(shown, {
      ...given,
      scope: "project:default",
      match: { ...given.match, urls: [{ host: "example.net" }, given.match.urls[1]] },
    });
    await json.fill('{"tool": ');
    await page.getByRole("tab", { name: "Form" }).click();
    await page.getByText("The JSON text cannot be read.").waitFor();
    await reads(() => page.getByLabel("Hosts").isDisabled(), true);
    await reads(() => save(page).isDisabled(), true);
    await page.getByRole("button", { name: "Discard the text" }).click();
    await reads(() => page.getByLabel("Hosts").inputValue(), "example.net");
  }),
);

test("a past decision becomes a rule: from the history of the inbox and from a call", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run rm -rf decided");
    await page
      .getByRole("button", { name: /^Decline/ })
      .and(page.locator(":enabled"))
      .click();
    const card = page.locator("article[data-status=declined]");
    await card.waitFor();
    await card.getByRole("button", { name: "Arguments and timing" }).click();
    await card.getByRole("link", { name: "Make a rule" }).click();
    await reads(() => word(page, 3).inputValue(), "decided");
    await open(page, "inbox/answered");
    const row = page.getByRole("row").filter({ hasText: "rm -rf decided" });
    await row.getByRole("link", { name: "Make a rule" }).click();
    await reads(() => word(page, 3).inputValue(), "decided");
    // What was declined is denied by the draft.
    await reads(() => page.getByRole("radio", { name: "Deny" }).isChecked(), true);
    await page.getByText(/^Filled from the call bash {2}rm -rf decided$/).waitFor();
  }),
);

test("the builder is used by keyboard alone", LIMIT, () =>
  scene(async (page) => {
    await open(page, "rules/new");
    const form = page.getByRole("tab", { name: "Form" });
    await form.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByLabel("Definition (JSON)").waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("button", { name: "Add word" }).focus();
    await page.keyboard.press("Enter");
    await word(page, 1).focus();
    await page.keyboard.type("make");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await counts(word(page, 1), 0);
  }),
);

for (const [locale, width, colorScheme] of [
  ["en-GB", 390, "light"],
  ["zh-CN", 390, "dark"],
  ["zh-CN", 1280, "light"],
]) {
  test(`the builder fits and is accessible: ${locale}, ${width} px`, LIMIT, () =>
    sceneWithRefusals(
      async (page) => {
        await run("echo fits");
        const { calls } = await ask("GET", "/admin/rules/recent-calls");
        await open(page, `rules/new?call=${calls[0].operation_id}`);
        await page.locator("[data-effect]").waitFor();
        assert.deepEqual(await axeOf(page), []);
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
        );
        assert.equal(wide, false);
      },
      { locale, colorScheme, viewport: { width, height: 844 } },
    ),
  );
}
