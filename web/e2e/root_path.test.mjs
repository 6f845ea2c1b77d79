/** The pages below a path of another site, as a reverse proxy shows them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { say, signedIn, startBrowser, startService } from "./harness.mjs";

const LIMIT = { timeout: 90_000 };
const BELOW = "/tools/gate";
let service;
let browser;

before(async () => {
  process.env.TOLLGATE_ROOT_PATH = BELOW;
  service = await startService();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

test("a person signs in, gets an answer and opens an address anew", LIMIT, async () => {
  const url = `${service.url}${BELOW}`;
  const { context, page, complaints } = await signedIn(browser, service, { url });
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await say(page, "run echo one; echo two");
  await page.locator("[data-kind=run_end]").first().waitFor();
  await page.waitForURL(`${url}/chat/*`);
  await page.reload();
  await page.locator("[data-kind=run_end]").first().waitFor();
  assert.deepEqual(
    asked.filter((path) => !path.startsWith(`${BELOW}/`)),
    [],
  );
  assert.deepEqual(complaints, []);
  await context.close();
});
