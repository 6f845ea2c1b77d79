/** Triggers, webhooks, channels, projects and memory, changed in a real browser. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { axeOf, reads } from "./harness.mjs";
import { ask, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const at = (path, play) =>
  sceneWithRefusals(async (page) => {
    await page.goto(`${service.url}/admin/${path}`);
    await play(page, page.getByRole("dialog"));
  });

const gone = (dialog) => dialog.waitFor({ state: "detached" });
const press = (scope, name) => scope.getByRole("button", { name, exact: true }).click();

test("a trigger is made and changed; its address and headers are not shown again", LIMIT, () =>
  at("triggers", async (page, dialog) => {
    await press(page, "New outbound request");
    await dialog.getByLabel("Name", { exact: false }).first().fill("deploy");
    await dialog.getByLabel("URL").fill("https://ci.example.org/hooks/very-secret");
    await dialog.getByLabel("Headers").fill("Authorization Bearer");
    await dialog.getByText("Enter one Name: value per line.").waitFor();
    await reads(() => dialog.getByRole("button", { name: "Create" }).isDisabled(), true);
    await dialog.getByLabel("Headers").fill("Authorization: Bearer abc");
    await dialog.getByLabel("Body (JSON)").fill('{"branch": "main"}');
    assert.deepEqual(await axeOf(page), []);
    await press(dialog, "Create");
    await gone(dialog);
    await press(page, "Edit: deploy");
    await dialog.getByText("Stored: Authorization").waitFor();
    assert.equal((await page.content()).includes("very-secret"), false);
    await dialog.getByRole("switch", { name: "Skip approval" }).press("Space");
    await press(dialog, "Save");
    await gone(dialog);
    const [trigger] = (await ask("GET", "/admin/triggers")).triggers;
    assert.deepEqual(
      [trigger.free, trigger.header_names, trigger.body, trigger.origin],
      [true, ["Authorization"], { branch: "main" }, "https://ci.example.org"],
    );
    await press(page, "Delete: deploy");
    await press(dialog, "Delete");
    await page.getByText("No outbound requests yet.").waitFor();
  }),
);

test("a webhook is changed, and gets a new secret that is shown once", LIMIT, () =>
  at("triggers/webhooks", async (page, dialog) => {
    const made = await ask("POST", "/admin/webhooks", { name: "alerts", template: "{{body}}" });
    await page.reload();
    await press(page, "Edit: alerts");
    await dialog.getByLabel("Max. per minute").fill("42");
    await press(dialog, "Save");
    await gone(dialog);
    assert.equal((await ask("GET", `/admin/webhooks/${made.id}`)).per_minute, 42);
    await page.getByRole("cell", { name: "42" }).waitFor();
    await press(page, "Rotate secret: alerts");
    await press(dialog, "Rotate secret");
    const secret = dialog.getByText(/whsec_/);
    await reads(async () => (await secret.innerText()).trim() !== made.secret, true);
  }),
);

test("a channel is made, refused without groups, and changed", LIMIT, () =>
  at("channels", async (page, dialog) => {
    await press(page, "New channel");
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Support desk");
    await dialog.getByRole("switch", { name: "Allow agents to post" }).press("Space");
    await press(dialog, "Create");
    await dialog
      .getByText(/targets must name at least one group/)
      .first()
      .waitFor();
    await dialog.getByRole("combobox", { name: "Groups" }).fill("Support");
    await page.keyboard.press("Enter");
    await press(dialog, "Create");
    await gone(dialog);
    await press(page, "Edit: Support desk");
    await dialog.getByLabel("Watermark", { exact: true }).selectOption("none");
    await press(dialog, "Save");
    await gone(dialog);
    const [channel] = (await ask("GET", "/admin/channels")).channels;
    const reply = channel.config.weixinReply;
    assert.deepEqual([reply.enabled, reply.targets, reply.watermark], [true, ["Support"], "none"]);
  }),
);

test("a project is made, moved and forgotten", LIMIT, () =>
  at("system", async (page, dialog) => {
    const stored = async () =>
      (await ask("GET", "/admin/projects")).projects.filter((project) => project.stored);
    await press(page, "New project");
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Shop");
    await dialog.getByRole("textbox", { name: "Folder", exact: true }).fill("/no/such/folder");
    await press(dialog, "Create");
    await dialog.getByRole("alert").waitFor();
    const folder = service.shop.replace(/\/[^/]*$/, "");
    await dialog.getByRole("textbox", { name: "Folder", exact: true }).fill(folder);
    await press(dialog, "Create");
    await gone(dialog);
    await press(page, "Edit: Shop");
    await dialog.getByRole("combobox", { name: "Local ports" }).fill("5432");
    await page.keyboard.press("Enter");
    const kept = dialog.getByRole("checkbox", { name: "Restrict file tools to the folder" });
    assert.equal(await kept.isChecked(), true);
    await kept.uncheck();
    await press(dialog, "Save");
    await gone(dialog);
    await page.getByRole("row", { name: "Shop" }).getByText("Also outside the folder").waitFor();
    const [project] = await stored();
    assert.deepEqual(project.allowed_hosts, []);
    assert.deepEqual([project.name, project.root, project.tcp_ports], ["Shop", folder, [5432]]);
    assert.equal(project.restrict_to_workspace, false);
    await press(page, "Delete: Shop");
    await press(dialog, "Delete");
    await gone(dialog);
    assert.deepEqual(await stored(), []);
  }),
);

test("hosts are allowed by line and by preset, and not beside ports", LIMIT, () =>
  at("system", async (page, dialog) => {
    const root = service.shop.replace(/\/[^/]*$/, "");
    const made = await ask("POST", "/admin/projects", { name: "Net", root, tcp_ports: [5432] });
    const stored = async () => (await ask("GET", `/admin/projects/${made.id}`)).allowed_hosts;
    await page.reload();
    await press(page, "Edit: Net");
    const hosts = dialog.getByRole("textbox", { name: "Allowed hosts" });
    const preset = dialog.getByRole("button", { name: "Add preset python" });
    await preset.waitFor();
    assert.deepEqual([await hosts.isDisabled(), await preset.isDisabled()], [true, true]);
    await dialog.getByText("Remove the ports to list hosts").waitFor();
    assert.deepEqual(await axeOf(page), []);
    await dialog.getByRole("combobox", { name: "Local ports" }).press("Backspace");
    await hosts.fill("github.com:22,443\nhttps://example.com");
    await preset.click();
    assert.equal(await preset.isDisabled(), true);
    await press(dialog, "Save");
    await reads(() => hosts.getAttribute("aria-invalid"), "true");
    const beside = page.locator(`#${await hosts.getAttribute("id")}-error`);
    assert.match(await beside.innerText(), /invalid host 'https:\/\/example\.com'/);
    await hosts.fill("github.com:22,443\n*.example.com\npreset:python\n");
    await press(dialog, "Save");
    await gone(dialog);
    assert.deepEqual(await stored(), ["github.com:22,443", "*.example.com", "preset:python"]);
    await page.getByRole("row", { name: "Net" }).getByText("*.example.com").waitFor();
    await press(page, "Edit: Net");
    await reads(() => dialog.getByRole("combobox", { name: "Local ports" }).isDisabled(), true);
    await hosts.fill("");
    await press(dialog, "Save");
    await gone(dialog);
    assert.deepEqual(await stored(), []);
    await ask("DELETE", `/admin/projects/${made.id}`);
  }),
);

test("memories are taken in, corrected, exported as they are, and forgotten", LIMIT, () =>
  at("memory", async (page, dialog) => {
    const file = (text) => ({
      name: "memory.jsonl",
      mimeType: "application/x-ndjson",
      buffer: Buffer.from(text),
    });
    const memory = { scope: "user", owner: "ann", key: "editor", content: "Ann prefers Vim" };
    await press(page, "Import");
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      dialog.getByRole("button", { name: /^File/ }).click(),
    ]);
    await chooser.setFiles(file("no json\n"));
    await dialog
      .getByText("The file contains a line that is not valid JSON. Use a file from an export.")
      .waitFor();
    const [again] = await Promise.all([
      page.waitForEvent("filechooser"),
      dialog.getByRole("button", { name: /^File/ }).click(),
    ]);
    await again.setFiles(file(`${JSON.stringify(memory)}\n`));
    await press(dialog, "Import");
    await page.getByText("1 created, 0 updated").waitFor();
    await press(page, "Edit: editor");
    await dialog.getByLabel("Memory").fill("Ann prefers Emacs");
    await press(dialog, "Save");
    await page.getByRole("cell", { name: "Ann prefers Emacs" }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export" }).click(),
    ]);
    const line = JSON.parse(readFileSync(await download.path(), "utf8").trim());
    assert.deepEqual([line.key, line.content], ["editor", "Ann prefers Emacs"]);
    await press(page, "Delete: editor");
    await press(dialog, "Delete");
    await page.getByText("No memories yet.").waitFor();
  }),
);

test("several memories are forgotten at once, and what has changed meanwhile is left", LIMIT, () =>
  at("memory", async (page, dialog) => {
    const memories = ["one", "two", "three"].map((key) => ({
      ...{ scope: "user", owner: "ann", key, content: `What ${key} says` },
    }));
    await ask("POST", "/admin/memory/import", { memories });
    await page.reload();
    await page.getByRole("checkbox", { name: "Select all rows" }).press("Space");
    await page.getByText("3 memories selected").waitFor();
    await page.getByRole("checkbox", { name: "Select three" }).press("Space");
    await page.getByText("2 memories selected").waitFor();
    const there = (await ask("GET", "/admin/memory")).memories;
    const two = there.find((memory) => memory.key === "two");
    await ask("PATCH", `/admin/memory/${two.id}`, { content: "Somebody was quicker" });

    await press(page, "Delete selected");
    await dialog.getByText("2 memories are deleted permanently:").waitFor();
    await dialog.getByText("What one says").waitFor();
    assert.deepEqual(await axeOf(page), []);
    await press(dialog, "Delete selected");
    await dialog.getByText("1 of 2 could not be deleted.").waitFor();
    await dialog.getByText("two: It changed after you selected it.").waitFor();
    await press(dialog, "Cancel");
    await gone(dialog);
    const left = (await ask("GET", "/admin/memory")).memories.map((memory) => memory.key);
    assert.deepEqual(left.sort(), ["three", "two"]);

    await press(page, "Clear selection");
    await page.getByText("1 memory selected").waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "Select all rows" }).press("Space");
    await press(page, "Delete selected");
    await press(dialog, "Delete selected");
    await page.getByText("2 memories deleted").waitFor();
    await page.getByText("No memories yet.").waitFor();
  }),
);

test("on a phone all rows are chosen, and a dialog has no second banner", LIMIT, () =>
  at("memory", async (page, dialog) => {
    await page.setViewportSize({ width: 380, height: 800 });
    const memories = ["near", "far"].map((key) => ({
      ...{ scope: "user", owner: "ann", key, content: `What ${key} says` },
    }));
    await ask("POST", "/admin/memory/import", { memories });
    await page.reload();
    await page.getByText("Select all rows").click();
    await page.getByText("2 memories selected").waitFor();
    await press(page, "Delete selected");
    await dialog.getByText("2 memories are deleted permanently:").waitFor();
    assert.deepEqual(await axeOf(page), []);
    await press(dialog, "Delete selected");
    await page.getByText("No memories yet.").waitFor();
  }),
);

test("a schedule is made, changed and run at once, with its history", LIMIT, () =>
  at("schedules", async (page, dialog) => {
    await press(page, "New schedule");
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("News");
    await dialog.getByLabel("Prompt").fill("Read the news.");
    await dialog.getByLabel("Cron expression").fill("now and then");
    await press(dialog, "Create");
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Cron expression").fill("0 0 1 1 *");
    assert.deepEqual(await axeOf(page), []);
    await press(dialog, "Create");
    await gone(dialog);
    await press(page, "Edit: News");
    await dialog.getByRole("combobox", { name: "Timing" }).selectOption("every_seconds");
    await dialog.getByLabel("Seconds between runs").fill("86400");
    await press(dialog, "Save");
    await gone(dialog);
    const [schedule] = (await ask("GET", "/admin/schedules")).schedules;
    assert.deepEqual([schedule.name, schedule.cron, schedule.every_seconds], ["News", null, 86400]);
    await page.getByRole("link", { name: "News" }).click();
    await press(page, "Run now");
    await page.getByRole("region", { name: "History" }).getByRole("link").waitFor();
  }),
);
