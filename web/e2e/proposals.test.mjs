/** Proposed rules: their proofs, one accepted, one dismissed, one whose proof is outdated. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  axeOf,
  composer,
  counts,
  request,
  say,
  signedIn,
  startBrowser,
  startService,
} from "./harness.mjs";

const LIMIT = { timeout: 240_000 };
const LOGS = "rm tmp/run-<number>.log";
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const SHOTS = process.env.TOLLGATE_SHOTS;

test("an administrator decides rules that answers and an agent propose", LIMIT, async () => {
  const [service, browser] = await Promise.all([startService("answers"), startBrowser()]);
  try {
    await play(service, browser);
  } finally {
    await browser.close();
    await service.stop();
  }
});

async function play(service, browser) {
  const { page, complaints } = await signedIn(browser, service, { locale: "en-GB" });
  const chat = await signedIn(browser, service, { locale: "en-GB" });
  const open = (path) => page.goto(`${service.url}/admin/${path}`);
  const card = (covers) => page.locator("section").filter({ hasText: covers });
  const confirm = (name) =>
    page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

  await open("proposals");
  await page.getByText("No open proposals.").waitFor();
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText(/20 calls: 2 new, 0 withdrawn, 2 open/).waitFor();
  const allow = card(LOGS);
  await allow
    .getByText("Approved 6 times on 2 days by ann (6); never declined.", { exact: true })
    .waitFor();
  await allow.getByRole("heading", { name: "Calls newly let through: 6" }).waitFor();
  await counts(allow.getByRole("row"), 6);
  await allow.getByRole("button", { name: "Show all 6" }).click();
  await allow.getByRole("cell", { name: "rm tmp/run-11.log" }).waitFor();
  await counts(allow.getByRole("row"), 7);
  await clean(page, "open");
  await look(service, browser, LOGS);

  const deny = card("git push --force");
  await deny.getByRole("heading", { name: "Calls newly denied: 2" }).waitFor();
  await deny.getByRole("button", { name: /^Dismiss/ }).click();
  await page.getByText("the same rule is not proposed again").waitFor();
  await confirm("Dismiss");
  await page.getByText("Dismissed: git push --force").waitFor();
  await counts(deny, 0);

  await decline(chat.page, "rm tmp/run-70.log");
  await allow.getByRole("button", { name: /^Accept/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Applies to: Agent default").waitFor();
  await dialog.getByText(/^Ends: \d+ \w+ \d{4}$/).waitFor();
  await clean(page, "accept");
  await confirm("Accept");
  await allow
    .getByRole("alert")
    .getByText(/The proof does not hold any more/)
    .waitFor();
  await allow.getByText("Withdrawn", { exact: true }).waitFor();
  await allow
    .getByRole("heading", { name: "Declined or denied calls that would run: 1" })
    .waitFor();
  await counts(allow.getByRole("button", { name: /^Accept/ }), 0);
  await clean(page, "outdated");

  await requestRule(service, chat.page);
  await open("proposals");
  const asked = card("rm tmp/run-70.log");
  await asked.getByText("The log is rebuilt by every run.").waitFor();
  await asked.getByText("Text of a model: do not trust it.").waitFor();
  await clean(page, "requested");
  await asked.getByRole("button", { name: /^Accept/ }).click();
  await confirm("Accept");
  await page.getByText("Accepted: rm tmp/run-70.log").waitFor();
  await page.getByText("No open proposals.").waitFor();

  await page.getByRole("link", { name: "Decided" }).click();
  for (const state of ["Accepted", "Dismissed", "Withdrawn"]) {
    await page.getByRole("cell", { name: state, exact: true }).waitFor();
  }
  await clean(page, "decided");
  await page.getByLabel("State").selectOption("dismissed");
  await counts(page.getByRole("row"), 2);
  await page.getByRole("link", { name: "Deny git push --force" }).click();
  await page.getByText("Decided by").waitFor();
  const { rules } = await request(service, "GET", "/admin/rules");
  assert.equal(rules.length, 1);

  await open("rules/fatigue");
  await page.getByRole("cell", { name: "default Above the target" }).waitFor();
  await clean(page, "fatigue");
  await page.getByRole("link", { name: "Proposed rules with a proof" }).click();
  await page.getByText("No open proposals.").waitFor();
  const others = complaints.filter((one) => !/status of 409/.test(one));
  assert.deepEqual([...others, ...chat.complaints], []);
}

/** The same page on a phone, in Chinese and dark. */
async function look(service, browser, covers) {
  const looks = { ...PHONE, locale: "zh-CN", colorScheme: "dark" };
  const { page, context, complaints } = await signedIn(browser, service, looks);
  await page.goto(`${service.url}/admin/proposals`);
  await page.getByRole("heading", { name: `允许 ${covers}` }).waitFor();
  await page.getByRole("heading", { name: "新放行的调用：6" }).waitFor();
  await clean(page, "phone");
  await page.getByRole("button", { name: /^接受/ }).first().click();
  await page
    .getByRole("dialog")
    .getByText(/适用于：/)
    .waitFor();
  await clean(page, "phone-accept");
  await page.goto(`${service.url}/admin/rules/fatigue`);
  await page.getByText("附有证明的规则提案").waitFor();
  await clean(page, "phone-fatigue");
  assert.deepEqual(complaints, []);
  await context.close();
}

async function decline(page, command) {
  await composer(page).waitFor();
  await say(page, `run ${command}`);
  await page
    .getByRole("button", { name: /^Decline/ })
    .and(page.locator(":enabled"))
    .click();
  await page.locator("[data-kind=run_end]").waitFor();
}

async function requestRule(service, page) {
  const { confirmations } = await request(service, "GET", "/confirmations?state=declined&limit=1");
  const [{ tool_call_id }] = confirmations;
  const asked = { tool_call_id, reason: "The log is rebuilt by every run." };
  await say(page, `call request_rule ${JSON.stringify(asked)}`);
  await page.locator("[data-kind=run_end]").nth(1).waitFor();
}

async function clean(page, name) {
  if (SHOTS !== undefined) {
    const size = page.viewportSize();
    await page.setViewportSize({ ...size, height: 2600 });
    await page.screenshot({ path: `${SHOTS}/proposals-${name}.png` });
    await page.setViewportSize(size);
  }
  assert.deepEqual(await axeOf(page), []);
  const [wide, seen] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(wide <= seen, `${wide} > ${seen}`);
}
