/** Whoever must answer sees it on every page, and every sign goes when it is answered anywhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, composer, counts, reads, say } from "./harness.mjs";
import { ask, scene, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const icon = (page) => page.locator("link[rel=icon]").getAttribute("href");
const waiting = (page) => page.getByRole("img", { name: /pending confirmation/ });

test("a call that waits elsewhere shows on every page, and goes when it is answered", LIMIT, () =>
  sceneWithRefusals(async (page, context) => {
    const asking = await context.newPage();
    await asking.goto(`${service.url}/chat`);
    await composer(asking).waitFor();
    await reads(() => page.title(), "Tollgate");
    await say(asking, "run rm -rf listed");
    await reads(() => page.title(), "(1) Tollgate");
    await reads(() => icon(page), /icon-waiting\.svg$/);
    assert.equal(await waiting(page).first().getAttribute("aria-label"), "1 pending confirmation");
    const id = asking.url().split("/").at(-1);
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.locator(`a[href$="${id}"]`).getByRole("img", { name: "Waiting for you" }).waitFor();
    assert.deepEqual(await axeOf(page), []);
    await asking.close();

    await page.getByRole("link", { name: /^Admin/ }).click();
    await page.getByRole("link", { name: /^Inbox/ }).click();
    await page.getByText("rm -rf listed").first().waitFor();
    const other = await context.newPage();
    await other.goto(`${service.url}/admin/usage`);
    await reads(() => other.title(), "(1) Tollgate");
    await counts(waiting(other), 2);
    await other.getByRole("heading", { level: 1 }).waitFor();
    assert.deepEqual(await axeOf(other), []);
    await page
      .getByRole("button", { name: /^(Deny|Decline)/ })
      .and(page.locator(":enabled"))
      .first()
      .click();

    await page.getByText("No pending requests.").waitFor();
    for (const tab of [page, other]) {
      await reads(() => tab.title(), "Tollgate");
      await reads(() => icon(tab), /icon\.svg$/);
      await counts(waiting(tab), 0);
    }
  }),
);

test("an answer that another page gives is shown to who had the request open", LIMIT, () =>
  scene(async (page) => {
    await say(page, "run rm -rf elsewhere");
    await reads(() => page.title(), "(1) Tollgate");
    await page.goto(`${service.url}/admin/inbox`);
    await page.getByRole("heading", { name: "Allow bash to run?" }).waitFor();
    const { confirmations } = await ask("GET", "/confirmations?state=pending");
    const { confirmation_id: id, request } = confirmations[0];
    const option_id = request.options.find((option) => option.kind === "deny").option_id;
    await ask("POST", `/confirmations/${id}`, { option_id, digest: request.digest });
    await page.getByText("Declined by ann: bash: rm -rf elsewhere").waitFor();
    await page.getByText("No pending requests.").waitFor();
    assert.deepEqual(await axeOf(page), []);
    await page.getByRole("button", { name: "Close" }).click();
    await counts(page.getByText("Declined by ann"), 0);
  }),
);

test("a question is listed in the inbox and leads to its session", LIMIT, () =>
  scene(async (page, context) => {
    await page.goto(`${service.url}/admin/inbox`);
    await page.getByText("No pending requests.").waitFor();
    const asking = await context.newPage();
    await asking.goto(`${service.url}/chat`);
    await composer(asking).waitFor();
    await say(asking, "ask");
    const row = page.getByRole("row", { name: /colour/i });
    await row.waitFor();
    assert.deepEqual(await axeOf(page), []);
    await row.getByRole("link", { name: "Open" }).click();
    await page.getByLabel("Blue").check();
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page.locator("[data-kind=run_end]").waitFor();
    await reads(() => page.title(), "Tollgate");
  }),
);

test("notifications are asked for in the inbox, come while nobody looks, and go", LIMIT, () =>
  scene(async (page, context) => {
    // A browser without a screen refuses them, so this page has its own.
    await context.addInitScript(() => {
      window.notified = [];
      window.Notification = class {
        static permission = "default";
        static requestPermission = async () => {
          window.Notification.permission = "granted";
          return "granted";
        };
        constructor(title, { body, tag }) {
          window.notified.push([title, body]);
          this.close = () => window.notified.push(["closed", tag]);
        }
      };
      Object.defineProperty(document, "hidden", { get: () => true });
    });
    await page.goto(`${service.url}/admin/inbox`);
    const toggle = page.getByRole("switch", { name: "Notify me in this browser" });
    await toggle.click({ force: true });
    await reads(() => toggle.isChecked(), true);
    const asking = await context.newPage();
    await asking.goto(`${service.url}/chat`);
    await composer(asking).waitFor();
    await say(asking, "run rm -rf unseen");
    await reads(
      async () => (await notified(page))[0],
      ["A tool call is waiting for your approval", "bash: rm -rf unseen"],
    );
    await asking.getByRole("button", { name: "Stop run" }).click();
    await reads(async () => (await notified(page))[1]?.[0], "closed");
  }),
);

const notified = (page) => page.evaluate(() => window.notified);
