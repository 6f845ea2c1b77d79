/** One service and one browser for all tests of a file, which have a process of their own. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { request, signedIn, startBrowser, startService } from "./harness.mjs";

export let service;
export let browser;

before(async () => {
  [service, browser] = await Promise.all([startService(), startBrowser()]);
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

/**
 * Play a scene on a page of its own, and see that nothing was complained about.
 *
 * `allowed`: complaints that belong to the scene, such as the browser's note of a refusal.
 */
export async function scene(play, { allowed, ...options } = {}) {
  const { page, context, complaints } = await signedIn(browser, service, {
    locale: "en-GB",
    ...options,
  });
  try {
    await play(page, context, complaints);
    const others = complaints.filter((one) => !allowed?.test(one));
    assert.deepEqual(others, []);
  } finally {
    await context.close();
  }
}

/** A scene in which the service refuses something on purpose, which the browser notes. */
export const sceneWithRefusals = (play, options = {}) =>
  scene(play, { ...options, allowed: /status of (409|412|422)/ });

/** `request` to the service of this file. */
export const ask = (...what) => request(service, ...what);
