// Shows pushed requests while no page is open. It handles no requests of pages and caches none.
"use strict";

const INTENTS = "tollgate-intents";
const TEXTS = {
  en: { open: "Open", decline: "Decline", fallback: "A request is waiting for you" },
  zh: { open: "打开", decline: "拒绝", fallback: "有请求等待处理" },
};
const language = new URL(self.location.href).searchParams.get("language") === "zh" ? "zh" : "en";
const texts = TEXTS[language];

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  event.waitUntil(take(read(event.data)));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification, event.action));
});

/** The message; of one that cannot be read, an empty one, since a push must show something. */
function read(data) {
  try {
    const message = data.json();
    return typeof message === "object" && message !== null ? message : {};
  } catch {
    return {};
  }
}

async function take(message) {
  const id = typeof message.tag === "string" ? message.tag : null;
  const tag = id ?? "tollgate";
  const closed = message.event === "closed";
  await self.registration.showNotification(message.title || texts.fallback, {
    body: message.body || "",
    tag,
    // Browsers end subscriptions of pages that receive messages and show nothing, so the end of a
    // request replaces its notification without a sound before it removes it.
    silent: closed,
    renotify: !closed,
    requireInteraction: !closed,
    icon: new URL("icon.svg", self.registration.scope).href,
    lang: language,
    data: { id },
    actions: closed || message.kind !== "confirmation" ? [] : actions(),
  });
  if (!closed) return;
  for (const shown of await self.registration.getNotifications({ tag })) shown.close();
}

function actions() {
  return [
    { action: "open", title: texts.open },
    { action: "decline", title: texts.decline },
  ];
}

async function open(notification, action) {
  const address = pageOf(notification.data?.id ?? null);
  if (action === "decline") {
    // A page cannot be made to decline by its address alone: this note is only written here.
    const intents = await caches.open(INTENTS);
    await intents.put(address, new Response(String(Date.now())));
    await self.clients.openWindow(`${address}?intent=decline`);
    return;
  }
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = pages.find((page) => page.url.split(/[?#]/)[0] === address);
  await (there === undefined ? self.clients.openWindow(address) : there.focus());
}

/** The request's page on this service; the first page where the message names no request. */
function pageOf(id) {
  const { scope } = self.registration;
  return id === null ? scope : new URL(`approvals/${encodeURIComponent(id)}`, scope).href;
}
