/** Hosts that commands reach, in the chat and in the list of connections, and how one is allowed. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import {
  axeOf,
  counts,
  reads,
  request,
  say,
  signedIn,
  startBrowser,
  startService,
} from "./harness.mjs";

const LIMIT = { timeout: 180_000 };
const PROXY = "http://127.0.0.1:3128";
const REFUSED = "evil.example:8443";
let service;
let browser;
let server;

before(async () => {
  server = createServer((_, answer) => answer.end("x".repeat(14_000)));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  [service, browser] = await Promise.all([startService("loopback"), startBrowser()]);
});

after(async () => {
  await browser?.close();
  await service?.stop();
  server?.close();
});

const ask = (...what) => request(service, ...what);
const press = (scope, name) => scope.getByRole("button", { name, exact: true }).click();
const hostsOf = async () => (await ask("GET", "/admin/projects/default")).allowed_hosts;
const reached = () => `127.0.0.1:${server.address().port}`;
/** Commands that reach one host, and are refused a host and the lookup of a name. */
const COMMANDS = {
  well: () => `curl -s ${reached()} | wc -c; curl -s -x ${PROXY} https://${REFUSED}; true`,
  badly: () => "curl -sS https://other.example",
};

async function play(act, options = {}) {
  const { page, context, complaints } = await signedIn(browser, service, {
    locale: "en-GB",
    bypassCSP: true,
    ...options,
  });
  try {
    await act(page, page.getByRole("dialog"));
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

test("of the project from the settings, only the allowed hosts are edited", LIMIT, () =>
  play(async (page, dialog) => {
    await page.goto(`${service.url}/admin/system`);
    await press(page, "Edit: default");
    await dialog.getByText("Only the allowed hosts can be changed here.").waitFor();
    const hosts = dialog.getByRole("textbox", { name: "Allowed hosts" });
    await reads(() => hosts.evaluate((field) => field === document.activeElement), true);
    for (const name of ["Name", "Folder"]) {
      const field = dialog.getByRole("textbox", { name, exact: true });
      assert.equal(await field.isEditable(), false);
    }
    for (const name of ["Local ports", "Unprotected paths"]) {
      assert.equal(await dialog.getByRole("combobox", { name }).isEditable(), false);
    }
    assert.equal(await dialog.getByRole("checkbox").isDisabled(), true);
    assert.deepEqual(await axeOf(page), []);
    await press(dialog, "Add preset python");
    await hosts.focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(`\n${reached()}`);
    await press(dialog, "Save");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(await hostsOf(), ["preset:python", reached()]);
    await page.getByRole("row", { name: "default" }).getByText(reached()).waitFor();
    await counts(page.getByRole("button", { name: "Delete: default" }), 0);
  }),
);

test("a call tells what it reached; what was refused is seen while it is collapsed", LIMIT, () =>
  play(async (page) => {
    const sentence = `${REFUSED} is not an allowed host of this project`;
    await say(page, `run ${COMMANDS.well()}`);
    const card = page.getByRole("log").locator("article[data-status=success]");
    await card.getByText(sentence).waitFor();
    await card.locator("button[aria-expanded=false]").first().press("Enter");
    const line = card.getByRole("button", { name: /^Network: 1 host, 13\.\d KB, 1 refused$/ });
    await line.waitFor();
    await card.getByText(sentence).waitFor();
    assert.deepEqual(await axeOf(page), []);
    await line.press("Enter");
    const rows = card.getByRole("group", { name: "Connections" }).getByRole("row");
    await counts(rows, 3);
    const shown = await rows.allInnerTexts();
    assert.match(
      shown.join("\n"),
      new RegExp(`${reached()}\\s+Allowed\\s+1\\s+\\d+ B\\s+13\\.\\d KB`),
    );
    assert.match(shown.join("\n"), new RegExp(`${REFUSED}\\s+Refused[\\s\\S]*${sentence}`));
    assert.deepEqual(await axeOf(page), []);

    await press(card, "Arguments and timing");
    await card.getByRole("link", { name: "All connections of this call" }).click();
    await counts(page.locator("main tbody tr"), 2);
    assert.match(await page.getByLabel("Call (ID)").inputValue(), /^op_/);
  }),
);

test("connections are listed and narrowed down, and a refused host is allowed", LIMIT, async () => {
  const { session_id } = await ask("POST", "/tools/bash/call", {
    arguments: { command: COMMANDS.badly() },
  });
  await play(async (page, dialog) => {
    await page.goto(`${service.url}/admin/connections`);
    const rows = page.locator("main tbody tr");
    await counts(rows, 3);
    assert.match(
      await rows.nth(0).innerText(),
      /other\.example\n[^:]*is not an allowed host[\s\S]*Refused[\s\S]*ann · default/,
    );
    const reachedRow = rows.filter({ hasText: reached() });
    assert.match(await reachedRow.innerText(), /Allowed[\s\S]*\d+ B[\s\S]*13\.\d KB/);
    await counts(reachedRow.getByRole("button", { name: /^Allow/ }), 0);
    assert.deepEqual(await axeOf(page), []);

    await page.getByRole("combobox", { name: "Decision" }).click();
    await page.getByRole("option", { name: "Refused" }).click();
    await counts(rows, 2);
    await page.getByLabel("Session").fill(session_id);
    await counts(rows, 1);
    await page.getByLabel("From").fill("2100-01-01T00:00");
    await page.getByText("No results").waitFor();
    await page.getByLabel("From").fill("2000-01-01T00:00");
    await counts(rows, 1);
    await page.getByLabel("Session").fill("");
    await page.getByLabel("Host", { exact: true }).fill("evil.example");
    await reads(() => rows.allInnerTexts().then(String), /evil\.example:8443/);

    await press(page, `Allow…: ${REFUSED}`);
    await dialog.getByRole("heading", { name: "Allow a host in project default" }).waitFor();
    const hosts = dialog.getByRole("textbox", { name: "Allowed hosts" });
    await reads(() => hosts.inputValue(), `preset:python\n${reached()}\n${REFUSED}`);
    await reads(() => hosts.evaluate((field) => field === document.activeElement), true);
    assert.deepEqual(await axeOf(page), []);
    assert.equal((await hostsOf()).includes(REFUSED), false);
    await press(dialog, "Save");
    await dialog.waitFor({ state: "detached" });
    assert.equal((await hostsOf()).includes(REFUSED), true);
    await press(page, `Allow…: ${REFUSED}`);
    await dialog.getByText(`${REFUSED} is already among the allowed hosts`).waitFor();
    await page.keyboard.press("Escape");
    const button = page.getByRole("button", { name: `Allow…: ${REFUSED}` });
    await reads(() => button.evaluate((one) => one === document.activeElement), true);
  });
});
