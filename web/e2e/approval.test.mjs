/** One request on a phone: pushed to it, opened from the notification, answered with nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, composer, counts, listen, reads, request, say } from "./harness.mjs";
import { worker } from "./phone.mjs";
import { browser, scene, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const MOMENT = "2026-01-01T00:00:00Z";
const SHOTS = process.env.TOLLGATE_SHOTS;

/** A phone whose browser is signed in with a token that may only approve. */
async function onPhone(play, { locale = "en-GB", path = "/admin/inbox" } = {}) {
  const { secret } = await request(service, "POST", "/admin/tokens", {
    name: "ann",
    scopes: ["approve"],
  });
  const context = await browser.newContext({ ...PHONE, locale, reducedMotion: "reduce" });
  try {
    const page = await context.newPage();
    const complaints = listen(page);
    await stub(context, page);
    await page.goto(`${service.url}${path}`);
    await page.getByLabel(/Access token|访问令牌/).fill(secret);
    await page.getByRole("button", { name: /^(Sign in|登录)$/ }).click();
    await play(page, context);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** The subscriptions of a service, and the parts of a browser that one without a screen lacks. */
async function stub(context, page) {
  const former = { id: "nsb_0", channel_id: "nch_1", label: "Firefox on Android" };
  const devices = [{ ...former, created_at: MOMENT, is_active: false }];
  page.subscribed = [];
  await context.route("**/api/v1/me/notification-*", async (route) => {
    const asked = route.request();
    const json = asked.url().includes("channels")
      ? { channels: [{ id: "nch_1", name: "push", kind: "web_push" }] }
      : { subscriptions: devices };
    if (asked.method() !== "POST") return route.fulfill({ json });
    page.subscribed.push(asked.postDataJSON());
    const { label, channel_id } = asked.postDataJSON();
    const made = { id: "nsb_1", channel_id, label, created_at: MOMENT, is_active: true };
    devices.push(made);
    await route.fulfill({ status: 201, json: made });
  });
  await context.route("**/api/v1/me/notification-subscriptions/*", async (route) => {
    devices.pop();
    await route.fulfill({ json: {} });
  });
  await context.addInitScript(() => {
    if (!("PushManager" in window)) return;
    Notification.requestPermission = async () => {
      window.asked = true;
      return "granted";
    };
    PushManager.prototype.getSubscription = async () => null;
    PushManager.prototype.subscribe = async (options) => {
      window.subscribedWith = options;
      return { toJSON: () => ({ endpoint: "https://push.example/1", keys: {} }) };
    };
  });
}

/** Have a call wait, and return its confirmation. */
async function waiting(page, command) {
  await page.goto(`${service.url}/chat`);
  await composer(page).waitFor();
  await say(page, `run ${command}`);
  const pending = async () =>
    (await request(service, "GET", "/confirmations?state=pending")).confirmations.filter(
      (one) => one.request.subject.command === command,
    );
  await reads(async () => (await pending()).length, 1);
  return (await pending())[0];
}

const pushed = (asked, event = "opened") => ({
  tag: asked.confirmation_id,
  event,
  kind: "confirmation",
  title: "Approval needed: bash",
  body: asked.request.subject.command,
});

const stateOf = async (asked) =>
  (await request(service, "GET", `/confirmations/${asked.confirmation_id}`)).state;

const shot = (page, name) =>
  SHOTS === undefined ? undefined : page.screenshot({ path: `${SHOTS}/${name}.png` });

test("a device is switched on where a person asks for it, and off again", LIMIT, () =>
  onPhone(async (page) => {
    const on = page.getByRole("button", { name: "Notify this device" });
    await on.waitFor();
    assert.equal(await page.evaluate(() => window.asked), undefined);
    assert.deepEqual(await page.evaluate(() => navigator.serviceWorker.getRegistrations()), []);
    await on.click();
    await page.getByText("This device", { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => window.asked), true);
    const { public_key } = await request(service, "GET", "/me/push-key");
    assert.deepEqual(await page.evaluate(() => window.subscribedWith), {
      userVisibleOnly: true,
      applicationServerKey: public_key,
    });
    const [{ channel_id, address, label }] = page.subscribed;
    assert.equal(channel_id, "nch_1");
    assert.equal(JSON.parse(address).endpoint, "https://push.example/1");
    assert.match(label, /^Chrome on /);
    await page.getByText("Inactive", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Revoke Firefox on Android" }).waitFor();
    assert.deepEqual(await axeOf(page), []);
    await shot(page, "push-devices");
    await page.getByRole("button", { name: "Turn off on this device" }).click();
    await on.waitFor();
    await counts(page.getByText("This device", { exact: true }), 0);
  }),
);

test("a pushed request opens on a page of its own and is approved there", LIMIT, () =>
  scene(async (desk) => {
    const asked = await waiting(desk, "rm -rf old-build");
    await onPhone(async (page, context) => {
      await page.getByRole("button", { name: "Notify this device" }).click();
      const phone = await worker(page, context, service.url);
      await phone.push(pushed(asked));
      await reads(phone.shown, [
        ["Approval needed: bash", "rm -rf old-build", ["Open", "Decline"], false],
      ]);
      await phone.click("");
      const page_of = `${service.url}/approvals/${asked.confirmation_id}`;
      assert.deepEqual(await phone.opened(), [page_of]);

      await page.goto(page_of);
      const card = page.getByRole("region", { name: /bash/ });
      await card.getByText("rm -rf old-build").first().waitFor();
      assert.deepEqual(await axeOf(page), []);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
      await shot(page, "approval-phone");
      await card
        .getByRole("button", { name: /^Approve once/ })
        .and(page.locator(":enabled"))
        .tap();
      await page.getByRole("heading", { name: "Approved by ann" }).waitFor();
      assert.deepEqual(await axeOf(page), []);
      await shot(page, "approval-phone-done");
      await phone.push(pushed(asked));
      await phone.push(pushed(asked, "closed"));
      await reads(phone.shown, []);
    });
    await desk.locator("[data-kind=run_end]").waitFor();
  }),
);

test("the button of a notification declines, an address alone does not", LIMIT, () =>
  sceneWithRefusals(async (desk) => {
    const asked = await waiting(desk, "rm -rf declined");
    const address = `${service.url}/approvals/${asked.confirmation_id}?intent=decline`;
    await onPhone(async (page, context) => {
      await page.getByRole("button", { name: "Notify this device" }).click();
      const phone = await worker(page, context, service.url);
      await page.goto(address);
      await page.getByText("rm -rf declined").first().waitFor();
      await reads(() => new URL(page.url()).search, "");
      await page
        .getByRole("button", { name: /^Decline/ })
        .and(page.locator(":enabled"))
        .waitFor();
      assert.equal(await stateOf(asked), "pending");

      await phone.push(pushed(asked));
      await reads(async () => (await phone.shown()).length, 1);
      await phone.click("decline");
      assert.deepEqual(await phone.opened(), [address]);
      assert.equal(await stateOf(asked), "pending");
      await page.goto(address);
      await page.getByRole("heading", { name: "Declined by ann" }).waitFor();
      assert.equal(await stateOf(asked), "declined");
    });
  }),
);

test("a request that ends elsewhere ends on the phone, in both languages", LIMIT, () =>
  sceneWithRefusals(async (desk) => {
    const asked = await waiting(desk, "rm -rf elsewhere");
    const path = `/approvals/${asked.confirmation_id}`;
    await onPhone(
      async (page) => {
        await page.getByText("rm -rf elsewhere").first().waitFor();
        await page.getByRole("link", { name: "所有请求" }).waitFor();
        assert.deepEqual(await axeOf(page), []);
        await desk.getByRole("button", { name: "Stop run" }).click();
        await page.getByRole("heading", { name: "已取消" }).waitFor();
      },
      { locale: "zh-CN", path },
    );
  }),
);

test("what is pushed and cannot be read still shows something", LIMIT, () =>
  onPhone(async (page, context) => {
    await page.getByRole("button", { name: "Notify this device" }).click();
    const phone = await worker(page, context, service.url);
    await phone.push("no JSON");
    await reads(phone.shown, [["A request is waiting for you", "", [], false]]);
    await phone.click("");
    assert.deepEqual(await phone.opened(), [`${service.url}/`]);
  }),
);

test("a code for a chat account is shown where a person asks for it", LIMIT, () =>
  onPhone(async (page) => {
    await page.getByRole("button", { name: "Link a chat account" }).click();
    await page.getByText(/^link [\w-]{20}$/).waitFor();
    assert.deepEqual(await axeOf(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await shot(page, "chat-accounts");
  }),
);

test("the page of a question leads to its session", LIMIT, () =>
  scene(
    async (page, context) => {
      const asking = await context.newPage();
      await asking.goto(`${service.url}/chat`);
      await composer(asking).waitFor();
      await say(asking, "ask");
      await asking.getByLabel("Blue").waitFor();
      const session = asking.url();
      const { questions } = await request(service, "GET", `/sessions/${idOf(session)}/questions`);
      await page.goto(`${service.url}/approvals/${questions[0].question_id}`);
      await page.waitForURL(session);
      await page.getByLabel("Blue").waitFor();
      await page.goto(`${service.url}/approvals/cfm_none`);
      await page.getByRole("heading", { name: "Request not found" }).waitFor();
      assert.deepEqual(await axeOf(page), []);
    },
    { allowed: /status of 404/ },
  ),
);

const idOf = (address) => address.split("/").at(-1);
