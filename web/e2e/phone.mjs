/** A phone: its service worker, and a push service on loopback that delivers to it. */
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { reads } from "./harness.mjs";

/** The service worker, with notifications that a browser without a screen can show. */
export async function worker(page, context, origin) {
  await reads(() => context.serviceWorkers().length, 1);
  const [found] = context.serviceWorkers();
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await found.evaluate(() => {
    self.shown = [];
    self.opened = [];
    self.registration.showNotification = async (title, options) => {
      self.shown = self.shown.filter((one) => one.tag !== options.tag);
      const close = () => {
        self.shown = self.shown.filter((one) => one.tag !== options.tag);
      };
      self.shown.push({ title, ...options, close });
    };
    self.registration.getNotifications = async ({ tag }) =>
      self.shown.filter((one) => one.tag === tag);
    self.clients.openWindow = async (address) => void self.opened.push(address);
    self.click = async (action) => {
      const event = new ExtendableEvent("notificationclick");
      let done;
      Object.assign(event, { notification: self.shown[0], action });
      event.waitUntil = (work) => {
        done = work;
      };
      self.dispatchEvent(event);
      await done;
    };
  });
  const devtools = await context.newCDPSession(page);
  const registered = new Promise((resolve) =>
    devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      if (registrations.length > 0) resolve(registrations[0].registrationId);
    }),
  );
  await devtools.send("ServiceWorker.enable");
  const registrationId = await registered;
  return {
    push: (message) =>
      devtools.send("ServiceWorker.deliverPushMessage", {
        origin,
        registrationId,
        data: typeof message === "string" ? message : JSON.stringify(message),
      }),
    shown: () =>
      found.evaluate(() =>
        self.shown.map(({ title, body, actions, silent }) => [
          title,
          body,
          actions.map((one) => one.title),
          silent,
        ]),
      ),
    click: (action) => found.evaluate((name) => self.click(name), action),
    opened: () => found.evaluate(() => self.opened),
  };
}

/** A push service with one subscription; `arrived` holds what the browser would read. */
export async function startPushService() {
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  const auth = randomBytes(16);
  const arrived = [];
  const server = createServer(async (asked, answer) => {
    const parts = [];
    for await (const part of asked) parts.push(part);
    const { authorization, topic, ttl, urgency } = asked.headers;
    const message = JSON.parse(decrypt(Buffer.concat(parts), keys, auth));
    arrived.push({ message, authorization, topic, ttl, urgency, at: Date.now() });
    answer.writeHead(201).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    url,
    arrived,
    subscription: {
      endpoint: `${url}/push/1`,
      expirationTime: null,
      keys: {
        p256dh: keys.getPublicKey().toString("base64url"),
        auth: auth.toString("base64url"),
      },
    },
    stop: () => server.close(),
  };
}

/** RFC 8291 as a browser reads it: a message of one record. */
function decrypt(body, keys, auth) {
  const salt = body.subarray(0, 16);
  const end = 21 + body[20];
  const sender = body.subarray(21, end);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), keys.getPublicKey(), sender]);
  const derive = (material, extra, purpose, size) =>
    Buffer.from(hkdfSync("sha256", material, extra, purpose, size));
  const material = derive(keys.computeSecret(sender), auth, info, 32);
  const key = derive(material, salt, "Content-Encoding: aes128gcm\0", 16);
  const nonce = derive(material, salt, "Content-Encoding: nonce\0", 12);
  const open = createDecipheriv("aes-128-gcm", key, nonce);
  open.setAuthTag(body.subarray(-16));
  const text = Buffer.concat([open.update(body.subarray(end, -16)), open.final()]);
  return text.subarray(0, text.lastIndexOf(2)).toString();
}
