/** A request in a session that nobody has open reaches a phone by Web Push, and goes when it ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  axeOf,
  composer,
  listen,
  reads,
  request,
  say,
  signedIn,
  startBrowser,
  startService,
} from "./harness.mjs";
import { startPushService, worker } from "./phone.mjs";

const LIMIT = { timeout: 120_000 };
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const SHOTS = process.env.TOLLGATE_SHOTS;

test("a request is pushed to a phone, approved there, and taken back", LIMIT, async () => {
  const push = await startPushService();
  const [service, browser] = await Promise.all([startService(`push=${push.url}`), startBrowser()]);
  try {
    await play(service, browser, push);
  } finally {
    await browser.close();
    await service.stop();
    push.stop();
  }
});

async function play(service, browser, push) {
  const { secret } = await request(service, "POST", "/admin/tokens", {
    name: "ann",
    scopes: ["approve"],
  });
  const context = await browser.newContext({ ...PHONE, locale: "en-GB", reducedMotion: "reduce" });
  const page = await context.newPage();
  const complaints = listen(page);
  await context.addInitScript((subscription) => {
    if (!("PushManager" in window)) return;
    Notification.requestPermission = async () => "granted";
    PushManager.prototype.getSubscription = async () => null;
    PushManager.prototype.subscribe = async () => ({ toJSON: () => subscription });
  }, push.subscription);
  await page.goto(`${service.url}/admin/inbox`);
  await page.getByLabel("Access token").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Notify this device" }).click();
  await page.getByText("This device", { exact: true }).waitFor();
  const phone = await worker(page, context, service.url);

  const desk = await signedIn(browser, service, { locale: "en-GB" });
  await composer(desk.page).waitFor();
  await say(desk.page, "run rm -rf pushed");
  await reads(() => push.arrived.length, 1);
  const [opened] = push.arrived;
  assert.match(opened.authorization, /^vapid t=.+, k=.+/);
  assert.equal(opened.urgency, "high");
  await phone.push(opened.message);
  await reads(phone.shown, [
    ["Approval needed: bash: rm -rf pushed", opened.message.body, ["Open", "Decline"], false],
  ]);
  await phone.click("");
  const [address] = await phone.opened();
  await page.goto(address);
  await page.getByText("rm -rf pushed").first().waitFor();
  // Buttons that become enabled during the check have two colors.
  await page
    .getByRole("button", { name: /^Decline/ })
    .and(page.locator(":enabled"))
    .waitFor();
  assert.deepEqual(await axeOf(page), []);
  if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/pushed.png` });
  await phone.push(opened.message);
  await page
    .getByRole("button", { name: /^Approve once/ })
    .and(page.locator(":enabled"))
    .tap();
  await page.getByRole("heading", { name: "Approved by ann" }).waitFor();
  await reads(() => push.arrived.length, 2);
  const [, closed] = push.arrived;
  assert.equal(closed.topic, opened.topic);
  assert.equal(closed.message.event, "closed");
  await phone.push(closed.message);
  await reads(phone.shown, []);
  await desk.page.locator("[data-kind=run_end]").waitFor();
  await reads(() => desk.page.title(), "Tollgate");
  assert.deepEqual(complaints, []);
  assert.deepEqual(desk.complaints, []);
}
