/** The audit of database queries in a real browser, against the real service. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { signedIn, startBrowser, startService } from "./harness.mjs";

let service;
let browser;

before(async () => {
  [service, browser] = await Promise.all([startService(), startBrowser()]);
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

async function post(path, body) {
  const answer = await fetch(`${service.url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

test("what agents asked a database is told, and what was refused is found", async () => {
  const source = await post("/admin/sources", {
    name: "Shop",
    kind: "sqlite",
    file: service.shop,
    tables: [{ schema: "main", name: "customers", masked: ["email"] }],
    agents: ["*"],
  });
  for (const sql of ["SELECT name FROM customers", "SELECT email FROM customers"]) {
    await post("/tools/sql_query/call", { arguments: { source_id: source.id, sql } });
  }
  const { page, context, complaints } = await signedIn(browser, service, { locale: "en-GB" });
  try {
    await page.goto(`${service.url}/admin/queries`);
    const rows = page.locator("main tbody tr");
    await rows.nth(1).waitFor();
    assert.match(await rows.nth(0).innerText(), /SELECT email[\s\S]*Refused/);
    assert.match(await rows.nth(1).innerText(), /SELECT name[\s\S]*main\.customers[\s\S]*Allowed/);

    await page.getByRole("combobox", { name: "Verdict" }).click();
    await page.getByRole("option", { name: "Refused" }).click();
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
    assert.match(await rows.nth(0).innerText(), /email/);
    await page.getByLabel("Data source (id)").fill("no-such-source");
    await page.getByText("Nothing fits.").waitFor();
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
});
