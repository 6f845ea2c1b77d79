/** A channel of notifications is set up and tested in the browser, and a person subscribes to it. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { axeOf, composer, counts, reads, say } from "./harness.mjs";
import { ask, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 180_000 };
const SHOTS = process.env.TOLLGATE_SHOTS;
const KEY = Buffer.alloc(32, 7);

/** A receiver of webhooks on loopback; answers with `answer.status`. */
async function startReceiver() {
  const arrived = [];
  const answer = { status: 200 };
  const server = createServer(async (incoming, outgoing) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const { "webhook-id": id, "webhook-timestamp": moment } = incoming.headers;
    const signature = createHmac("sha256", KEY).update(`${id}.${moment}.${body}`).digest("base64");
    arrived.push({
      ...JSON.parse(body),
      path: incoming.url,
      isSigned: incoming.headers["webhook-signature"] === `v1,${signature}`,
    });
    outgoing.writeHead(answer.status).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, arrived, answer, stop: () => server.close() };
}

async function clean(page, name) {
  assert.deepEqual(await axeOf(page), []);
  for (const [width, height] of [
    [390, 844],
    [1280, 800],
  ]) {
    await page.setViewportSize({ width, height });
    const [wide, seen] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    assert.ok(wide <= seen, `${wide} > ${seen} at ${width}`);
    if (SHOTS !== undefined) {
      await page.screenshot({ path: `${SHOTS}/${name}-${width}.png`, fullPage: true });
    }
  }
}

test("a channel is set up, tested and subscribed to", LIMIT, async () => {
  const receiver = await startReceiver();
  try {
    await sceneWithRefusals((page) => play(page, receiver));
  } finally {
    receiver.stop();
  }
});

async function play(page, receiver) {
  const dialog = page.getByRole("dialog");
  await page.goto(`${service.url}/admin/notifications`);
  const browsers = page.getByRole("row", { name: /browsers/ });
  await browsers.getByText("Web Push").waitFor();
  await counts(browsers.getByRole("button"), 0);
  await browsers.getByRole("switch").press("Space");
  await browsers.getByText("Disabled").waitFor();
  await browsers.getByRole("switch").press("Space");
  await browsers.getByText("OK", { exact: true }).waitFor();

  await page.getByRole("button", { name: "New channel" }).click();
  const kind = dialog.getByLabel("Kind");
  for (const [value, label] of [
    ["slack", "App-level token"],
    ["smtp", "Mail server"],
    ["webhook", "Signing key"],
  ]) {
    await kind.selectOption(value);
    await dialog.getByLabel(label).first().waitFor();
    await clean(page, `form-${value}`);
  }
  await dialog.getByLabel("Name").fill("on-call");
  await dialog.getByLabel("URL").fill(`${receiver.url}/hook`);
  const key = dialog.getByLabel("Signing key");
  await key.fill("too-short");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText(/secrets\.key/).waitFor();
  await key.fill(`whsec_${KEY.toString("base64")}`);
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = page.getByRole("row", { name: /on-call/ });
  await row.getByText(receiver.url).waitFor();

  await row.getByRole("button", { name: /^Send a test/ }).click();
  receiver.answer.status = 404;
  await dialog.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByText(/^Not delivered: .*404/).waitFor();
  receiver.answer.status = 200;
  await dialog.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByText("The provider took the message.").waitFor();
  await reads(
    () => receiver.arrived.map((one) => [one.path, one.isSigned]),
    [
      ["/hook", true],
      ["/hook", true],
    ],
  );
  await clean(page, "test");
  await page.keyboard.press("Escape");

  // Somebody else changes the channel while its form is open.
  await row.getByRole("button", { name: /^Edit/ }).click();
  await dialog.getByText("Set: URL, Signing key").waitFor();
  await counts(dialog.getByLabel("Signing key"), 0);
  const named = (await ask("GET", "/admin/notification-channels")).channels;
  const { id } = named.find((one) => one.name === "on-call");
  await ask("PATCH", `/admin/notification-channels/${id}`, { content: "none" });
  await row.getByText("Only a link").waitFor();
  await dialog.getByLabel("Content").selectOption("full");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("button", { name: "Reload" }).click();
  await row.getByRole("button", { name: /^Edit/ }).click();
  await dialog.getByLabel("Content").selectOption("full");
  await dialog.getByRole("button", { name: "Replace" }).click();
  await dialog.getByLabel("Signing key").waitFor();
  await clean(page, "edit");
  await dialog.getByRole("button", { name: "Keep the stored secrets" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("Full", { exact: true }).waitFor();

  await page.goto(`${service.url}/admin/inbox`);
  await page.getByText("No subscriptions yet.").waitFor();
  await page.getByRole("button", { name: "Subscribe" }).click();
  await dialog.getByLabel("Channel").selectOption({ label: "on-call · Webhook" });
  await dialog.getByLabel("Label").fill("My receiver");
  await clean(page, "subscribe");
  await dialog.getByRole("button", { name: "Subscribe" }).click();
  const own = page.getByRole("row", { name: /on-call/ });
  await own.getByText("My receiver").waitFor();
  await own.scrollIntoViewIfNeeded();
  await clean(page, "inbox");

  receiver.answer.status = 401;
  await page.goto(`${service.url}/chat`);
  await composer(page).waitFor();
  await say(page, "run rm -rf notified");
  await reads(() => receiver.arrived.at(-1).data.subject, /rm -rf notified/);
  await page.goto(`${service.url}/admin/notifications`);
  await row.getByText("Failing").waitFor();
  await row.getByText(/401/).waitFor();
  await clean(page, "failing");
  await row.getByRole("switch").press("Space");
  await row.getByText("Disabled").waitFor();

  await page.goto(`${service.url}/admin/inbox`);
  await own.getByText("Inactive").waitFor();
  await own.scrollIntoViewIfNeeded();
  await clean(page, "inactive");
  await page.goto(`${service.url}/admin/notifications`);
  await row.getByRole("switch").press("Space");
  await ask("POST", "/admin/approver-groups", { id: "payments", name: "P", members: ["bea"] });
  await page.getByRole("link", { name: "Subscriptions" }).click();
  await page.getByRole("row", { name: /Requests for ann/ }).waitFor();
  await page.getByRole("button", { name: "New shared subscription" }).click();
  await dialog.getByLabel("Receives").selectOption("group:payments");
  await dialog.getByLabel("Label").fill("Payments on call");
  await clean(page, "shared-form");
  await dialog.getByRole("button", { name: "Create" }).click();
  const shared = page.getByRole("row", { name: /Requests for the group payments/ });
  await shared.getByText("Payments on call").waitFor();
  await clean(page, "shared");
  await shared.getByRole("button", { name: /^Delete/ }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await shared.waitFor({ state: "detached" });

  await page.goto(`${service.url}/admin/inbox`);
  await own.getByRole("button", { name: /^Unsubscribe/ }).click();
  await page.getByText("No subscriptions yet.").waitFor();
  await page.goto(`${service.url}/admin/notifications`);
  await row.getByRole("button", { name: /^Delete/ }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await row.waitFor({ state: "detached" });
}
