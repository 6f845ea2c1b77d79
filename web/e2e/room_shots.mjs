/** Pictures of every admin page: both themes, both languages, wide and narrow. */
import { mkdirSync } from "node:fs";
import { axeOf, request, say, signedIn, startBrowser, startService } from "./harness.mjs";

const OUT = process.argv[2] ?? "shots";
const ONLY = process.argv[3] ?? "";
mkdirSync(OUT, { recursive: true });

const LOOKS = [
  ["en-light", "light", "en-GB"],
  ["zh-dark", "dark", "zh-CN"],
  ["en-dark", "dark", "en-GB"],
  ["zh-light", "light", "zh-CN"],
];
const WIDTHS = [
  ["wide", { width: 1280, height: 860 }],
  ["narrow", { width: 380, height: 800 }],
];
const PAGES = [
  ...["inbox", "inbox/substitutes", "sessions", "delegations"],
  ...["tools", "tools/tool/bash", "rules", "rules/new", "rules/fatigue", "grants"],
  ...["approvers", "approvers/groups", "approvers/substitutes"],
  ...["agents", "agents/writer", "tokens"],
  ...["audit", "queries", "connections", "usage"],
  ...["skills", "memory", "sources", "forum"],
  ...["schedules", "triggers", "channels"],
  ...["notifications", "notifications/subscriptions"],
  ...["plugins", "system", "settings", "doctor"],
];

const service = await startService();
const browser = await startBrowser();
let faults = 0;
const wide = [];

const ask = (...what) => request(service, ...what);
const memory = (content, ...tags) => ({ scope: "user", owner: "ann", content, tags });

/** Something on every page, as after a day of work. */
async function stage() {
  await ask("POST", "/admin/agents", { id: "writer", title: "Writer of release notes" });
  await ask("POST", "/admin/rules", {
    tool: "bash",
    decision: "deny",
    justification: "Images are pushed by the pipeline",
    match: { argv: ["docker", "push"] },
  });
  await ask("POST", "/admin/approver-groups", {
    id: "payments",
    name: "Payments",
    members: ["bea", "carl"],
  });
  await ask("POST", "/admin/approval-policies", {
    name: "Production",
    applies_to: { tools: ["bash", "mysql_*"], risks: ["high", "critical"], owners: ["olga"] },
    steps: [{ groups: ["payments"] }, { owner: true, after_s: 900 }],
    quorum: 2,
    not_requester: true,
  });
  await ask("POST", "/admin/substitutes", {
    user_id: "ann",
    substitute_id: "sue",
    ends_at: new Date(Date.now() + 86_400_000).toISOString(),
    note: "Holidays",
  });
  // Nothing listens there: the channel fails as soon as there is a request.
  const channel = await ask("POST", "/admin/notification-channels", {
    name: "mail",
    kind: "smtp",
    settings: { host: "127.0.0.1", port: 9, tls: "none", sender: "gate@example.org" },
  });
  await ask("POST", "/admin/notification-subscriptions", {
    channel_id: channel.id,
    audience: "group:payments",
    address: "on-call@example.org",
    label: "On call",
  });
  await ask("POST", "/me/notification-subscriptions", {
    channel_id: channel.id,
    address: "ann@example.org",
  });
  await ask("POST", "/admin/webhooks", { name: "alerts", template: "Look at this: {{body}}" });
  await ask("POST", "/admin/schedules", {
    name: "Morning report",
    cron: "0 7 * * 1-5",
    timezone: "Europe/Berlin",
    prompt: "Sum up what happened since yesterday.",
  });
  await ask("POST", "/admin/memory/import", {
    memories: [
      memory("The staging database is rebuilt every Sunday", "staging", "database"),
      memory("Releases are announced in the forum first", "release"),
    ],
  });
  const { id } = await ask("POST", "/sessions", { title: "A day of work" });
  await ask("POST", "/tools/forum/call", {
    arguments: { action: "post", title: "Release 0.2", body: "The notes are ready to read." },
    session_id: id,
  });
  const call = (name, args) => ({
    id: `call_${Math.random().toString(16).slice(2)}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  });
  await ask("POST", "/tools/calls", {
    session_id: id,
    calls: [
      call("calculator", { expression: "6*7" }),
      call("bash", { command: "ls -la" }),
      call("read_file", { path: "missing.md" }),
      call("bash", { command: "rm -rf --no-preserve-root /" }),
    ],
  });
}

await stage();
for (const [look, colorScheme, locale] of LOOKS) {
  const { page, context, complaints } = await signedIn(browser, service, { colorScheme, locale });
  await say(page, "two");
  await page
    .getByText(/1 (of|\/) 2/)
    .first()
    .waitFor();
  for (const path of PAGES) {
    const name = path.replaceAll("/", "-");
    if (!name.includes(ONLY)) continue;
    await page.setViewportSize(WIDTHS[0][1]);
    await page.goto(`${service.url}/admin/${path}`);
    await page.locator("main h1, main h2").first().waitFor();
    await page.waitForLoadState("networkidle");
    for (const [width, viewport] of WIDTHS) {
      await page.setViewportSize(viewport);
      await page.screenshot({ path: `${OUT}/${name}-${width}-${look}.png`, fullPage: true });
      const found = await axeOf(page);
      faults += found.length;
      for (const fault of found) console.log(name, width, look, fault);
      const spills = await page.evaluate(
        "document.querySelector('main').scrollWidth > document.documentElement.clientWidth",
      );
      if (spills) wide.push(`${name} is wider than the window (${width}, ${look})`);
    }
  }
  if (complaints.length > 0) console.log(look, complaints);
  await context.close();
}
await browser.close();
await service.stop();
console.log(`${faults} faults, ${wide.length} too wide`, wide);
process.exit(faults === 0 && wide.length === 0 ? 0 : 1);
