/** Data sources in a real browser, against the real service: made, tested, narrowed, given, removed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, reads } from "./harness.mjs";
import { ask, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
/** Save, and wait for this change: a note about a former one may still be there. */
async function stored(page, save) {
  const answer = page.waitForResponse((one) => one.request().method() === "PATCH");
  await save();
  assert.equal((await answer).status(), 200);
}

const section = (page, title) =>
  page.locator("section").filter({ has: page.getByRole("heading", { name: title }) });

test("a source is made, looked into, narrowed to what may be read, and removed", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await page.goto(`${service.url}/admin/sources/new`);
    await page.getByLabel("Type").selectOption("sqlite");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Shop");
    await page.getByLabel("File").fill("shop.db");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("file must be an absolute path").waitFor();
    await page.getByLabel("File").fill(service.shop);
    await page.getByRole("button", { name: "Create" }).click();

    await page.getByRole("button", { name: "Test connection: Shop" }).click();
    await page.getByText(/responded in/).waitFor();
    await page.getByRole("button", { name: "Load tables" }).click();
    // By keyboard alone, from here to the stored choice.
    const table = page.getByRole("checkbox", { name: "main.customers" });
    await table.focus();
    await page.keyboard.press("Space");
    await page.getByText("3 columns").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("checkbox", { name: /^email/ }).focus();
    await page.keyboard.press("Space");
    const tables = section(page, "Readable tables");
    await tables.getByText("1 of 1 table allowed").waitFor();
    await stored(page, () => tables.getByRole("button", { name: "Save" }).press("Enter"));

    const readers = section(page, "Access and limits");
    await readers.getByRole("combobox", { name: "Agents" }).fill("*");
    await page.keyboard.press("Enter");
    await readers.getByLabel("Max. rows per query").fill("7");
    await stored(page, () => readers.getByRole("button", { name: "Save" }).click());
    const { sources } = await ask("GET", "/admin/data-sources");
    assert.deepEqual(sources[0].tables, [{ schema: "main", name: "customers", masked: ["email"] }]);
    assert.deepEqual(sources[0].agents, ["*"]);
    assert.equal(sources[0].limits.max_rows, 7);
    const refused = await ask("POST", "/tools/sql_query/call", {
      arguments: { source_id: sources[0].id, sql: "SELECT email FROM customers" },
    });
    assert.notEqual(refused.status, "success");
    assert.deepEqual(await axeOf(page), []);

    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No data sources yet.").waitFor();
  }),
);

test("a password is never shown, and who was overtaken loads anew", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    const made = await ask("POST", "/admin/data-sources", {
      name: "Orders",
      kind: "postgres",
      host: "127.0.0.1",
      database: "orders",
      user: "reader",
      password: "correct horse",
      tls: "off",
    });
    await page.goto(`${service.url}/admin/sources/source/${made.id}`);
    const address = section(page, "Address and account");
    const password = address.getByLabel("Password", { exact: true });
    await reads(() => password.inputValue(), "");
    assert.equal((await page.content()).includes("correct horse"), false);
    // Its place changes: the password has to come along.
    await address.getByLabel("Host").fill("localhost");
    await address.getByRole("button", { name: "Save" }).click();
    await address.getByText("password must be sent again if host changes").waitFor();
    await ask("PATCH", `/admin/data-sources/${made.id}`, { name: "Orders of today" });
    await password.fill("correct horse");
    await address.getByRole("button", { name: "Save" }).click();
    await address.getByText("Someone else changed it").waitFor();
    await address.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Orders of today" }).waitFor();
    await address.getByLabel("Host").fill("localhost");
    await password.fill("correct horse");
    await stored(page, () => address.getByRole("button", { name: "Save" }).click());
    const now = await ask("GET", `/admin/data-sources/${made.id}`);
    assert.deepEqual(
      [now.name, now.host, now.password_set],
      ["Orders of today", "localhost", true],
    );
    await ask("DELETE", `/admin/data-sources/${made.id}`);
  }),
);
