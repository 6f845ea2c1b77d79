/** The service worker of this page, and the browser's push subscription. */
import { ROOT } from "../api/root";
import type { Language } from "../i18n";

/** Whether this browser can be notified: `insecure` without HTTPS, `missing` without support. */
export type Support = "ready" | "insecure" | "missing";

export function support(): Support {
  if (!globalThis.isSecureContext) return "insecure";
  const parts = ["PushManager", "Notification"].every((name) => name in globalThis);
  return parts && "serviceWorker" in navigator ? "ready" : "missing";
}

interface ScriptPolicy {
  createScriptURL: (language: string) => string;
}

declare global {
  interface Window {
    trustedTypes?: { createPolicy: (name: string, rules: ScriptPolicy) => ScriptPolicy };
  }
}

// The policy knows one file, so that it vouches for nothing that a caller names.
const rules: ScriptPolicy = {
  createScriptURL: (language) =>
    `${ROOT}/service-worker.js?language=${language === "zh" ? "zh" : "en"}`,
};
let policy: ScriptPolicy | null = null;

function workerAddress(language: Language): string {
  policy ??= window.trustedTypes?.createPolicy("tollgate-worker", rules) ?? rules;
  return policy.createScriptURL(language);
}

/** The subscription of this browser, if it has one. */
export async function subscription(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration(`${ROOT}/`);
  return (await registration?.pushManager.getSubscription()) ?? null;
}

/** Subscribe this browser with the service's public key; an older subscription is replaced. */
export async function subscribe(publicKey: string, language: Language): Promise<PushSubscription> {
  await navigator.serviceWorker.register(workerAddress(language), { scope: `${ROOT}/` });
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
}

/** Browser and system in words, for a list of devices. */
export function deviceName(agent = navigator.userAgent): { browser: string; system: string } {
  const first = (names: readonly [RegExp, string][], other: string) =>
    names.find(([pattern]) => pattern.test(agent))?.[1] ?? other;
  return { browser: first(BROWSERS, "Browser"), system: first(SYSTEMS, "?") };
}

// In this order: most browsers also name those that they resemble.
const BROWSERS: readonly [RegExp, string][] = [
  [/Edg[A-Z]?\//i, "Edge"],
  [/OPR\//, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/Android/, "Android"],
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];
