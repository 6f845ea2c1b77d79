/** What a reader of Chinese meets where the service speaks English. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { composer, say, signedIn, startService } from "./harness.mjs";
import { ask, browser, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const CHINESE = { locale: "zh-CN", allowed: /status of (404|409)/ };

test("a tool is found and told in Chinese, and so is what its call ended in", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/chat`);
    await composer(page).fill("/算术");
    await page.getByRole("option", { name: /calculator.*精确计算算术表达式/ }).waitFor();
    await page.keyboard.press("Enter");
    const form = page.getByRole("form");
    await form.getByText("精确计算算术表达式。").waitFor();
    await form.getByText("Evaluate an arithmetic expression").waitFor();
    await page.getByLabel("expression").fill("1 / 0");
    await page.keyboard.press("Enter");
    const card = page.locator("article[data-status=error]");
    await card.getByText("无法计算，请检查算式").waitFor();
    await card.getByText("Calculation error: division by zero").first().waitFor();
    await card.getByText("calculation_error").waitFor();
  }, CHINESE),
);

test("a refusal of the service is told in Chinese first, then in its own words", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/admin/tools`);
    const row = page.getByRole("row").filter({ hasText: "get_weather" });
    await row.getByText("查询城市的当前天气和预报。").waitFor();
    await row.getByText("数据（data）").waitFor();
    await page.goto(`${service.url}/admin/agents/of-nobody`);
    const alert = page.locator("main").getByRole("alert").first();
    await alert.getByText("找不到", { exact: true }).waitFor();
    await alert.getByText("of-nobody").waitFor();
  }, CHINESE),
);

test("what a rule denies is told by the rule's word", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/chat`);
    await say(page, "run rm -rf --preserve-root /");
    const card = page.locator("article[data-status=denied]");
    await card.getByText("被策略拒绝：删除整个磁盘、主目录或系统目录").waitFor();
    await card.getByText(/^Denied by policy: /).waitFor();
  }, CHINESE),
);

test("a notice tells a refusal in Chinese, and the service's sentence after it", LIMIT, () =>
  scene(async (page) => {
    await page.route("**/api/v1/admin/tools/calculator", (route) =>
      route.request().method() === "PATCH"
        ? route.fulfill({ status: 409, json: { code: "conflict", detail: "Not at this moment" } })
        : route.continue(),
    );
    await page.goto(`${service.url}/admin/tools`);
    await page.getByRole("textbox", { name: "搜索" }).fill("calculator");
    // The list is drawn anew for the search, which would take the focus away.
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
    const toggle = page.getByRole("row").filter({ hasText: "精确计算算术" }).getByRole("switch");
    await toggle.press("Space");
    const notice = page.getByRole("alert");
    await notice.getByText(/^与当前状态冲突，请刷新后重试\s+Not at this moment$/).waitFor();
  }, CHINESE),
);

test("what is odd about a rule is told in Chinese, with the service's sentence", LIMIT, () =>
  scene(async (page) => {
    await ask("POST", "/admin/rules", {
      tool: "no_such_tool",
      decision: "deny",
      justification: "Nobody calls it.",
    });
    await page.goto(`${service.url}/admin/rules`);
    const row = page.getByRole("row").filter({ hasText: "no_such_tool" });
    await row.getByText("目录中没有这样的工具").waitFor();
    await row.getByText("No tool of the catalog is named by 'no_such_tool'").waitFor();
  }, CHINESE),
);

test("what a lasting approval covers is told in Chinese, with the command beneath", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/chat`);
    await say(page, "run rm -rf covered");
    await page.getByText("持续有效的批准").click();
    await page.getByText("仅适用于下列命令").first().waitFor();
    await page.getByText("`rm -rf covered` in /").first().waitFor();
    await page.getByRole("button", { name: "本会话内批准" }).click();
    await page.locator("article[data-status=success]").waitFor();
    await page.goto(`${service.url}/admin/grants`);
    const row = page.getByRole("row").filter({ hasText: "rm -rf covered" });
    await row.getByText("仅适用于下列命令").waitFor();
  }, CHINESE),
);

test("what became of a schedule's times, and why it stands still, is told in Chinese", LIMIT, () =>
  scene(async (page) => {
    await ask("POST", "/admin/agents", { id: "leaver" });
    const made = await ask("POST", "/admin/schedules", {
      name: "Yearly",
      prompt: "Look",
      cron: "0 0 1 1 *",
      agent_id: "leaver",
    });
    await ask("DELETE", "/admin/agents/leaver");
    await ask("POST", `/admin/schedules/${made.id}/run`);
    await page.goto(`${service.url}/admin/schedules/${made.id}`);
    const failed = page.getByRole("row").filter({ hasText: "失败" });
    await failed.getByText("智能体已不存在").waitFor();
    await failed.getByText(/^Agent 'leaver' not found/).waitFor();
    const state = page.getByRole("definition").filter({ hasText: "已暂停" });
    await state.getByText("智能体已不存在").waitFor();
    await page.getByRole("button", { name: "恢复" }).click();
    await page.getByRole("button", { name: "暂停" }).click();
    await state.getByText("已由管理员暂停").waitFor();
    await state.getByText("paused by an administrator").waitFor();
  }, CHINESE),
);

test(
  "what is wrong with plugins and hooks is told in Chinese, with the error itself",
  LIMIT,
  async () => {
    const broken = await startService("broken");
    try {
      const { page, context } = await signedIn(browser, broken, CHINESE);
      await say(page, 'call calculator {"expression": "1 / 0"}');
      await page.locator("article[data-status=error]").waitFor();
      await page.goto(`${broken.url}/admin/plugins`);
      const plugin = page.getByRole("row").filter({ hasText: "unfinished.py" });
      await plugin.getByText("插件有语法错误").waitFor();
      await plugin.getByText(/SyntaxError: /).waitFor();
      const missing = page.getByRole("paragraph").filter({ hasText: "guard" });
      await missing.getByText("插件的代码出错").waitFor();
      await missing.getByText("ZeroDivisionError: division by zero").waitFor();
      const hook = page.getByRole("row").filter({ hasText: "watch" });
      await hook.getByText("钩子程序异常退出").waitFor();
      await hook.getByText("Hook 'watch' failed: exit 1").waitFor();
      await context.close();
    } finally {
      await broken.stop();
    }
  },
);

test(
  "what is wrong with a skill is told in Chinese, with the line that says it",
  LIMIT,
  async () => {
    const folder = `${service.data}/skills/wrong`;
    await mkdir(folder, { recursive: true });
    try {
      await writeFile(
        `${folder}/SKILL.md`,
        "---\nname: right\ndescription: D\nmetadata:\n  requires: {bins: [no-such-program]}\n---\nBody\n",
      );
      await scene(async (page) => {
        await page.goto(`${service.url}/admin/skills`);
        const row = page.getByRole("row").filter({ hasText: "wrong" });
        await row.getByText("缺少所需的程序或变量").waitFor();
        await row.getByText("missing: program no-such-program").waitFor();
        await row.getByRole("link").click();
        await page.getByText("name 须与目录同名").waitFor();
        await page.getByText("line 2: name 'right' must equal the folder 'wrong'").waitFor();
      }, CHINESE);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

test("what the test of a data source shows is told in Chinese, with the names", LIMIT, () =>
  scene(async (page) => {
    const source = { kind: "sqlite", name: "Shop", file: service.shop };
    const made = await ask("POST", "/admin/data-sources", source);
    const gone = { kind: "sqlite", name: "Gone", file: `${service.shop}.gone` };
    const lost = await ask("POST", "/admin/data-sources", gone);
    const tables = [{ schema: "main", name: "orders" }];
    await ask("PATCH", `/admin/data-sources/${made.id}`, { tables });
    await page.goto(`${service.url}/admin/sources/source/${made.id}`);
    await page.getByRole("button", { name: "Shop" }).click();
    const result = page.getByRole("status");
    await result.getByText("已允许的表不存在").waitFor();
    await result.getByText("The table main.orders does not exist.").waitFor();
    await result.getByText("尚未允许任何智能体读取").waitFor();
    await page.goto(`${service.url}/admin/sources/source/${lost.id}`);
    await page.getByRole("button", { name: "Gone" }).click();
    await result.getByText("没有此数据库文件").waitFor();
    await result.getByText(/^The data source 'Gone' is not available/).waitFor();
    for (const { id } of [made, lost]) await ask("DELETE", `/admin/data-sources/${id}`);
  }, CHINESE),
);

test(
  "where the audit's chain is broken, and what cannot be counted, is told in Chinese",
  LIMIT,
  () =>
    scene(async (page) => {
      const why = "row 7 was changed: it does not match its hash";
      const found = { ok: false, rows: 9, first_seq: 1, last_seq: 9, head: "", anchors: 0 };
      await page.route("**/api/v1/admin/audit/verify", (route) =>
        route.fulfill({ json: { ...found, broken: { seq: 7, code: "audit_row_changed", why } } }),
      );
      await page.goto(`${service.url}/admin/audit`);
      await page.getByRole("button", { name: "校验链" }).click();
      const result = page.getByRole("status").filter({ hasText: "链在第 7 条断开" });
      await result.getByText("该记录被改动，与其哈希不符").waitFor();
      await result.getByText(why).waitFor();

      await ask("POST", "/admin/agents", {
        id: "dear",
        model: "m",
        limits: { cost_per_session: 1 },
      });
      await page.goto(`${service.url}/admin/system`);
      await page.getByText(/^已设费用上限，但 model_prices 中没有该模型的价格/).waitFor();
      await page.getByText("The cost of agent 'dear' is limited").waitFor();
      await ask("DELETE", "/admin/agents/dear");
    }, CHINESE),
);

test("what a rule of the service says of a command is told by its word in Chinese", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/admin/rules/explain`);
    await page.getByLabel("命令").fill("rm -rf --no-preserve-root /");
    await page.getByRole("button", { name: "解释" }).click();
    const verdict = page.locator("main p[data-tone]").first();
    await verdict.getByText(/^删除整个磁盘、主目录或系统目录（.+）/).waitFor();
  }, CHINESE),
);
