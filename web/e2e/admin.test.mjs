/** The admin pages in a real browser, against the real service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, counts, reads, say } from "./harness.mjs";
import { ask, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const PAGES = [
  ...[
    "inbox",
    "tools",
    "tools/agents",
    "tools/switches",
    "tools/tool/bash",
    "rules",
    "rules/new",
    "rules/explain",
  ],
  ...[
    "rules/fatigue",
    "proposals",
    "proposals/decided",
    "grants",
    "audit",
    "queries",
    "agents",
    "sessions",
    "delegations",
    "skills",
    "forum",
    "memory",
  ],
  ...[
    "sources",
    "sources/new",
    "schedules",
    "triggers",
    "triggers/webhooks",
    "channels",
    "channels/tasks",
    "notifications",
    "notifications/subscriptions",
  ],
  ...["plugins", "usage", "tokens", "system", "settings", "doctor"],
];

const open = async (page, path) => {
  await page.goto(`${service.url}/admin/${path}`);
  await page.locator("main h1").waitFor();
};

test("a switch that somebody else has moved is shown, not overwritten", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await open(page, "tools");
    await page.getByRole("textbox", { name: "Search" }).fill("calculator");
    const toggle = page.getByRole("switch", { name: "Enable calculator for everyone" });
    // What the search brings comes later than the row, and with it the version that counts.
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
    await toggle.waitFor();
    await reads(() => toggle.isChecked(), true);
    await ask("PATCH", "/admin/tools/calculator", { prompt_hint: "Somebody else was here." });
    await toggle.press("Space");
    await page.getByText("Someone else has changed this tool").waitFor();
    assert.equal((await ask("GET", "/admin/tools/calculator")).choices.enabled, true);
    // Seen anew, it can be switched.
    await page.locator("main [role=switch]:enabled").first().waitFor();
    await toggle.press("Space");
    await page.getByText("Tool 'calculator' is disabled by an administrator").waitFor();
    const after = await ask("GET", "/admin/tools/calculator");
    assert.equal(after.choices.enabled, false);
    assert.equal(after.choices.prompt_hint, "Somebody else was here.");
    await ask("PATCH", "/admin/tools/calculator", { enabled: true });
  }),
);

test("an address that leads nowhere says so, at every depth", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    for (const path of ["nothing", "sources/nothing", "rules/no/such", "agents/a/b"]) {
      await page.goto(`${service.url}/admin/${path}`);
      await page.getByRole("heading", { name: "Page not found" }).waitFor();
    }
  }),
);

test("a tool is tried, and its result drawn", LIMIT, () =>
  sceneWithRefusals(async (page, _, complaints) => {
    await open(page, "tools/tool/calculator");
    await page.getByRole("button", { name: "Start a call" }).click();
    await page.getByRole("textbox", { name: /^expression/ }).fill("6 * 7");
    await page
      .getByRole("form")
      .getByRole("button", { name: /^(Run|Call|Send)/ })
      .click();
    const card = page.getByTestId("tried").locator("article[data-status=success]");
    await card.waitFor();
    await card.locator("button[aria-expanded]").first().click();
    await card.getByText("42").first().waitFor();
    assert.deepEqual(complaints, []);
  }),
);

test("a call of another session is declined from the inbox", LIMIT, () =>
  sceneWithRefusals(async (page, context) => {
    await page.goto(`${service.url}/chat`);
    const asked = await context.newPage();
    await asked.goto(`${service.url}/chat`);
    await asked.getByRole("textbox", { name: "Message" }).waitFor();
    await say(asked, "run rm -rf old-build");
    await asked.getByRole("button", { name: /^Approve once/ }).waitFor();
    await open(page, "inbox");
    await page
      .getByRole("button", { name: /^Approve once/ })
      .and(page.locator(":enabled"))
      .waitFor();
    await page.getByLabel("Reason").first().fill("Not today.");
    await page
      .getByRole("button", { name: /^(Deny|Decline)/ })
      .first()
      .click();
    await page.getByText("No pending requests.").waitFor();
    const { confirmations } = await ask("GET", "/confirmations?state=declined");
    assert.equal(confirmations[0].message, "Not today.");
  }),
);

test("a command is taken apart, with what speaks against each piece", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await open(page, "rules/explain");
    await page.getByLabel("Command").fill("cd build && rm -rf out | tee log");
    await page.getByRole("button", { name: "Explain" }).click();
    const risky = page.locator("li[data-risky=true]");
    await risky.getByText("rm -rf out").waitFor();
    await counts(page.getByRole("list", { name: "Commands that would run" }).locator("li"), 3);
  }),
);

for (const [colorScheme, locale, width] of [
  ["light", "en-GB", 380],
  ["dark", "en-GB", 380],
  ["light", "zh-CN", 1280],
  ["dark", "zh-CN", 1280],
]) {
  test(`every page is accessible and fits: ${colorScheme}, ${locale}, ${width} px`, LIMIT, () =>
    sceneWithRefusals(
      async (page, _, complaints) => {
        for (const path of PAGES) {
          await open(page, path);
          await page.waitForFunction(
            () => document.querySelector("main [role=status][aria-label]") === null,
          );
          assert.deepEqual(await axeOf(page), [], path);
          const wide = await page.evaluate(
            "document.querySelector('main').scrollWidth > document.documentElement.clientWidth",
          );
          assert.equal(wide, false, `${path} is wider than the window`);
          const cut = await page.evaluate(() =>
            [...document.querySelectorAll("main [role=region]:has(> table)")]
              .filter((box) => box.scrollWidth > box.clientWidth)
              .map((box) => box.getAttribute("aria-label")),
          );
          assert.deepEqual(cut, [], `${path} hides what stands at the side`);
        }
        assert.deepEqual(complaints, []);
      },
      { viewport: { width, height: 800 }, colorScheme, locale },
    ),
  );
}
