/** Agents in a real browser, against the real service: every field of a profile, and its tools. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, reads } from "./harness.mjs";
import { ask, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const tag = async (page, label, ...names) => {
  for (const name of names) {
    await page.getByRole("combobox", { name: label }).fill(name);
    await page.keyboard.press("Enter");
  }
};

test("every field of a profile is kept as it was entered", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await ask("POST", "/admin/agents", { id: "writer", title: "Writer" });
    await page.goto(`${service.url}/admin/agents/writer`);
    const field = (name) => page.getByRole("textbox", { name, exact: true });
    await field("Model").fill("claude-test");
    await field("System prompt").fill("You write.");
    await page.getByLabel("Tools", { exact: true }).selectOption("some");
    await tag(page, "Tools or toolset:name; press Enter after each", "toolset:files", "grep");
    await page.getByRole("combobox", { name: "Skills", exact: true }).selectOption("some");
    await tag(page, "Skills; press Enter after each. Empty: none", "house-style");
    await page.getByLabel("Tool names").selectOption("claude");
    await page.getByLabel("When no one can answer").selectOption("suspend");
    await field("Tools visible at once").fill("30");
    await field("Calls per minute").fill("60");
    await field("Cost per session (USD)").fill("1.5");
    await field("Model requests per run").fill("20");
    await field("Max. tokens per answer").fill("4096");
    await field("Context window (tokens)").fill("50000");
    await field("Temperature").fill("0.4");
    await page.getByLabel("Reasoning", { exact: true }).selectOption("false");
    await field("Reasoning budget (tokens)").fill("1024");
    await page.getByLabel("Effort").selectOption("high");
    await field("Supervisor").fill("reader");
    await field("Stronger model").fill("claude-strong");
    await page.getByLabel("Omitted system prompt sections").selectOption("some");
    await page.getByRole("checkbox", { name: "Date" }).check();
    await page.getByLabel("Sub-agents' tools", { exact: true }).selectOption("some");
    await tag(page, "Sub-agents' tools or toolset:name; press Enter after each", "read_file");
    await tag(page, "Allowed profiles", "reader");
    await field("Max. delegation depth").fill("1");
    await page.getByRole("switch", { name: "Read-only" }).focus();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Save", exact: true }).press("Enter");
    await page.getByText("Saved").first().waitFor();
    const { profile } = await ask("GET", "/admin/agents/writer");
    assert.deepEqual(profile, {
      id: "writer",
      title: "Writer",
      model: "claude-test",
      system_prompt: "You write.",
      max_iterations: 20,
      max_tokens: 4096,
      context_tokens: 50000,
      temperature: 0.4,
      thinking_budget: 1024,
      adaptive_thinking: false,
      effort: "high",
      prompt_exclude: ["date"],
      prompt_without: ["date"],
      selection: ["toolset:files", "grep"],
      tools: {},
      skills: ["house-style"],
      aliases: "claude",
      unattended: "suspend",
      limits: { calls_per_minute: 60, cost_per_session: 1.5 },
      max_visible_tools: 30,
      supervisor: "reader",
      stronger_model: "claude-strong",
      subagents: {
        selection: ["read_file"],
        read_only: true,
        no_shell: false,
        agents: ["reader"],
        max_iterations: null,
        max_depth: 1,
      },
    });
    assert.deepEqual(await axeOf(page), []);

    // Nothing listed is not everything; and what is emptied goes back to the service's own.
    await page.getByRole("combobox", { name: "Skills", exact: true }).selectOption("all");
    await page.getByRole("combobox", { name: "Skills", exact: true }).selectOption("some");
    await field("Temperature").fill("");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    for (;;) {
      const { profile: now } = await ask("GET", "/admin/agents/writer");
      if (now.temperature !== null) continue;
      assert.deepEqual(now.skills, []);
      break;
    }
  }),
);

test("a tool is taken from one agent, and another is explained to it", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await ask("POST", "/admin/agents", { id: "clerk" });
    await page.goto(`${service.url}/admin/agents/clerk`);
    const tools = page
      .locator("section")
      .filter({ has: page.getByRole("heading", { name: "Tools of this agent" }) });
    await tools.getByLabel("Search", { exact: true }).fill("calculator");
    await tools.getByLabel("calculator for clerk").selectOption("off");
    await tools.getByText("Disabled", { exact: true }).last().waitFor();
    await tools.getByRole("button", { name: "Add: calculator" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Only for sums.");
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await tools.getByRole("button", { name: "Change: calculator" }).waitFor();
    const { profile } = await ask("GET", "/admin/agents/clerk");
    assert.deepEqual(profile.tools, { calculator: { state: "off", hint: "Only for sums." } });
  }),
);

test("whoever was overtaken sees what the other did", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await ask("POST", "/admin/agents", { id: "scout", title: "Scout" });
    await page.goto(`${service.url}/admin/agents/scout`);
    const title = page.getByRole("textbox", { name: "Title", exact: true });
    await title.fill("Mine");
    await ask("PATCH", "/admin/agents/scout", { title: "Theirs" });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Theirs" }).waitFor();
    await reads(() => title.inputValue(), "Theirs");
    assert.equal((await ask("GET", "/admin/agents/scout")).profile.title, "Theirs");
  }),
);
