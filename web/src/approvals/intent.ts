/** The note that the service worker leaves when a person has pressed "Decline" in a notification. */

const INTENTS = "tollgate-intents";
const LIFETIME_MS = 5 * 60_000;

/**
 * Take the note of this page; whether there was one.
 *
 * Only the service worker writes it, so that an address alone declines nothing.
 */
export async function takeIntent(page: string, now = Date.now()): Promise<boolean> {
  if (!("caches" in globalThis)) return false;
  const intents = await caches.open(INTENTS);
  const note = await intents.match(page);
  if (note === undefined) return false;
  await intents.delete(page);
  return now - Number(await note.text()) < LIFETIME_MS;
}
