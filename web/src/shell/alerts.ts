/** Notifications of the browser, and a sound, for who is looking elsewhere. Both are off at first. */
import { waitsFor } from "../events/inbox";
import type { InboxEntry, InboxMessage } from "../events/messages";
import { translate } from "../i18n";
import { visible } from "../shared/visible";

export type Alert = "notification" | "sound";

const keyOf = (alert: Alert) => `tollgate-${alert}`;

export function isOn(alert: Alert): boolean {
  if (localStorage.getItem(keyOf(alert)) !== "on") return false;
  return alert === "sound" || permission() === "granted";
}

/**
 * Switch an alert, and ask the browser for permission if that is needed.
 *
 * Resolves to whether it is on: a person may refuse.
 */
export async function setAlert(alert: Alert, on: boolean): Promise<boolean> {
  if (on && alert === "notification" && permission() !== "granted") {
    if (permission() === "missing" || (await Notification.requestPermission()) !== "granted")
      return false;
  }
  localStorage.setItem(keyOf(alert), on ? "on" : "off");
  return on;
}

/** `missing` where the browser has none, for example without HTTPS. */
export function permission(): NotificationPermission | "missing" {
  return "Notification" in globalThis ? Notification.permission : "missing";
}

/** Tells of what comes, and takes that back when it ends, wherever it was answered. */
export class Alerts {
  private readonly shown = new Map<string, Notification>();
  private known = new Set<string>();

  /** `userId`: an entry that this user has approved does not wait for them any more. */
  take(message: InboxMessage, open: (entry: InboxEntry) => void, userId?: string): void {
    if (message.type === "inbox") {
      if (!message.recovered) this.known = new Set(message.entries?.map((entry) => entry.id));
      return;
    }
    const { entry, state } = message;
    const isNew = !this.known.has(entry.id);
    const ended = state === "closed" || !waitsFor(entry, userId);
    // That somebody else has approved calls nobody.
    if (!ended && !isNew && state === "changed" && message.reason !== "reminder") return;
    this.shown.get(entry.id)?.close();
    this.shown.delete(entry.id);
    if (state === "closed") this.known.delete(entry.id);
    else this.known.add(entry.id);
    if (ended) return;
    if (isOn("sound")) beep();
    if (document.hidden && isOn("notification")) this.show(entry, open);
  }

  clear(): void {
    for (const notification of this.shown.values()) notification.close();
    this.shown.clear();
    this.known.clear();
  }

  private show(entry: InboxEntry, open: (entry: InboxEntry) => void): void {
    const notification = new Notification(translate(`alert.${entry.kind}`), {
      body: visible(entry.title),
      tag: entry.id,
    });
    notification.onclick = () => {
      window.focus();
      open(entry);
      notification.close();
    };
    this.shown.set(entry.id, notification);
  }
}

const SOUND = { hertz: 660, seconds: 0.18, volume: 0.08 };

function beep(): void {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  tone.frequency.value = SOUND.hertz;
  volume.gain.value = SOUND.volume;
  tone.connect(volume).connect(context.destination);
  tone.onended = () => void context.close();
  tone.start();
  tone.stop(context.currentTime + SOUND.seconds);
}
