/** The audit of database queries in a real browser, against the real service. */
import { test } from "node:test";
import { reads } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

test("what agents asked a database is told, and what was refused is found", async () => {
  const source = await ask("POST", "/admin/data-sources", {
    name: "Shop",
    kind: "sqlite",
    file: service.shop,
    tables: [{ schema: "main", name: "customers", masked: ["email"] }],
    agents: ["*"],
  });
  for (const sql of ["SELECT name FROM customers", "SELECT email FROM customers"]) {
    await ask("POST", "/tools/sql_query/call", { arguments: { source_id: source.id, sql } });
  }
  await scene(async (page) => {
    await page.goto(`${service.url}/admin/queries`);
    const rows = page.locator("main tbody tr");
    await rows.nth(1).waitFor();
    await reads(() => rows.nth(0).innerText(), /SELECT email[\s\S]*Refused/);
    await reads(() => rows.nth(1).innerText(), /SELECT name[\s\S]*main\.customers[\s\S]*Allowed/);

    await page.getByRole("combobox", { name: "Decision" }).click();
    await page.getByRole("option", { name: "Refused" }).click();
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
    await reads(() => rows.nth(0).innerText(), /email/);
    await page.getByLabel("Data source (ID)").fill("no-such-source");
    await page.getByText("No results").waitFor();
  });
});
