/** Pictures of the chat and of signing in, in both themes and languages, and what axe says of each. */
import { mkdirSync, readFileSync } from "node:fs";
import { composer, say, signedIn, startBrowser, startService } from "./harness.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const OUT = process.argv[2] ?? "shots";
const ONLY = process.argv[3];
mkdirSync(OUT, { recursive: true });

const service = await startService();
const browser = await startBrowser();
let faults = 0;

async function shot(page, name) {
  if (ONLY !== undefined && !name.includes(ONLY)) return;
  await page.screenshot({ path: `${OUT}/${name}.png` });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  for (const one of violations) {
    faults += 1;
    console.log(
      name,
      one.id,
      one.help,
      one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`),
    );
  }
}

const LOOKS = [
  ["en-light", "light", "en-GB"],
  ["zh-dark", "dark", "zh-CN"],
  ["en-dark", "dark", "en-GB"],
  ["zh-light", "light", "zh-CN"],
];
for (const [look, colorScheme, locale] of LOOKS) {
  const bare = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    locale,
  });
  const first = await bare.newPage();
  await first.goto(service.url);
  await first.locator("input[type=password]").waitFor();
  await shot(first, `signin-${look}`);
  await bare.close();

  const { page, context, complaints } = await signedIn(browser, service, {
    colorScheme,
    locale,
    bypassCSP: true,
  });
  await shot(page, `new-${look}`);
  await composer(page).fill("/fi");
  await page.getByRole("option").first().waitFor();
  await shot(page, `slash-${look}`);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^(Run|运行)$/ }).waitFor();
  await shot(page, `form-${look}`);
  await page.keyboard.press("Escape");
  await say(page, "essay please");
  await page.locator("[data-kind=run_end]").waitFor();
  await shot(page, `essay-${look}`);
  await say(
    page,
    "run printf 'building\\n\\033[32mok\\033[0m all 12 parts\\n\\033[33mwarning\\033[0m: slow disk\\n'",
  );
  await page.locator("[data-kind=run_end]").nth(1).waitFor();
  await say(
    page,
    'call todo {"todos": [{"id": "1", "content": "Read the log", "status": "completed"}, {"id": "2", "content": "Mend the gate", "status": "in_progress"}, {"id": "3", "content": "Tell everybody", "status": "pending"}]}',
  );
  await page.locator("[data-kind=run_end]").nth(2).waitFor();
  await say(
    page,
    'call write_file {"path": "notes.md", "content": "# Notes\\n\\nThe gate holds.\\n"}',
  );
  await page.locator("[data-kind=run_end]").nth(3).waitFor();
  const folded = page.locator("article[data-call] > button[aria-expanded=false]");
  while ((await folded.count()) > 0) await folded.first().click();
  await shot(page, `cards-${look}`);
  await say(page, "run rm -rf --preserve-root /");
  await page.locator("[data-kind=run_end]").nth(4).waitFor();
  await shot(page, `denied-${look}`);
  await say(page, "two");
  await page
    .getByText(/1 (of|\/) 2/)
    .first()
    .waitFor();
  await page
    .getByRole("button", { name: /Approve once|批准一次/ })
    .and(page.locator(":enabled"))
    .waitFor();
  await shot(page, `confirm-${look}`);
  await page.setViewportSize({ width: 380, height: 740 });
  await page.waitForFunction(
    () => document.querySelector("aside").getBoundingClientRect().right <= 0,
  );
  await shot(page, `confirm-narrow-${look}`);
  await page.keyboard.press("Control+Shift+Backspace");
  await page.locator("[data-status=declined]").first().waitFor();
  await page
    .getByRole("button", { name: /Approve once|批准一次/ })
    .and(page.locator(":enabled"))
    .waitFor();
  await page.keyboard.press("Control+Enter");
  await page.locator("[data-kind=run_end]").nth(5).waitFor();
  await shot(page, `narrow-${look}`);
  await page.getByRole("button", { name: /Open navigation|打开导航/ }).click();
  await page.waitForFunction(
    () => document.querySelector("aside").getBoundingClientRect().left === 0,
  );
  await page.locator("aside").getByRole("link").first().waitFor();
  await shot(page, `drawer-${look}`);
  await page
    .getByRole("button", { name: /Close navigation|关闭导航/ })
    .last()
    .click();
  await page.setViewportSize({ width: 1280, height: 800 });
  await say(page, "ask");
  await page.getByText("Which colour shall it be?").first().waitFor();
  await shot(page, `question-${look}`);
  await page.getByRole("button", { name: /Account and appearance|账户与外观/ }).click();
  await page.getByRole("dialog").waitFor();
  await shot(page, `menu-${look}`);
  await page.keyboard.press("Escape");
  await page.getByLabel("Red").check();
  await page.getByRole("button", { name: /^(Answer|回答)$/ }).click();
  await page.locator("[data-kind=run_end]").nth(6).waitFor();
  await say(page, 'call delegate_task {"goal": "run echo twelve files"}');
  await page.locator("[data-kind=run_end]").nth(7).waitFor();
  await shot(page, `subagent-${look}`);
  if (complaints.length > 0) console.log(look, complaints);
  await context.close();
  if (ONLY !== undefined) break;
}
await browser.close();
await service.stop();
console.log(`${faults} faults`);
process.exit(faults === 0 ? 0 : 1);
