/** Two people at one browser: what one has written is never sent by the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, counts, say, startWire } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };
// What is another's is not there, which the browser notes.
const ANOTHERS = { allowed: /status of 404/ };

async function signOut(page) {
  await page.getByRole("button", { name: /Account and appearance/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Access token").waitFor();
}

async function signInAsBob(page) {
  await page.getByLabel("Access token").fill(service.other);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isBob(page);
}

const isBob = (page) =>
  page
    .getByRole("button", { name: /Account and appearance/ })
    .getByText("bob")
    .waitFor();

async function messagesOf(sessionId) {
  return JSON.stringify((await ask("GET", `/sessions/${sessionId}/messages`)).messages);
}

test("words that wait for the connection are not sent as the next person's", LIMIT, async () => {
  const wire = await startWire(service.url);
  try {
    await scene(
      async (page, context) => {
        await say(page, "hello from ann");
        await page.getByText("You said: hello from ann").waitFor();
        const sessionId = page.url().split("/").at(-1);
        wire.cut();
        await page.getByText(/^Connection lost/).waitFor();
        await say(page, "for ann alone");
        await page.getByText("Sending…").waitFor();
        const other = await context.newPage();
        await other.goto(service.url);
        await signOut(other);
        await signInAsBob(other);
        wire.mend();
        await isBob(page);
        await counts(page.getByText("for ann alone"), 0);
        assert.equal((await messagesOf(sessionId)).includes("for ann alone"), false);
      },
      { ...ANOTHERS, url: wire.url },
    );
  } finally {
    wire.stop();
  }
});

test("words that were not sent are gone when their writer signs out", LIMIT, () =>
  scene(async (page) => {
    await say(page, "hello again");
    await page.getByText("You said: hello again").waitFor();
    await composer(page).fill("half a thought of ann");
    await signOut(page);
    await signInAsBob(page);
    await page.getByRole("alert").waitFor();
    assert.equal((await page.content()).includes("of ann"), false);
    await counts(page.getByText("hello again"), 0);
  }, ANOTHERS),
);
