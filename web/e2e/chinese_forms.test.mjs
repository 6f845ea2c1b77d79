/** What a reader of Chinese meets in forms: help for fields, and what is wrong with them. */
import { test } from "node:test";
import { composer, counts } from "./harness.mjs";
import { scene, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const CHINESE = { locale: "zh-CN", allowed: /status of 422/ };

/** Open the form of a tool in a new chat. */
async function formOf(page, tool) {
  await page.goto(`${service.url}/chat`);
  await composer(page).fill(`/${tool}`);
  await page.getByRole("option", { name: new RegExp(`^/?${tool}`) }).waitFor();
  await page.keyboard.press("Enter");
  return page.getByRole("form");
}

test("an argument out of its bounds is told in Chinese, with the bound", LIMIT, () =>
  scene(async (page) => {
    const form = await formOf(page, "get_weather");
    await form.getByLabel("city").fill("Paris");
    await form.getByLabel("days").fill("99");
    await page.keyboard.press("Enter");
    const card = page.locator("article[data-status=invalid_arguments]");
    await card.getByText("参数不符合要求").waitFor();
    await card.getByText("days must be <= 16").first().waitFor();
    await card
      .getByRole("listitem")
      .filter({ hasText: /^days：\s*不得大于 16$/ })
      .waitFor();
    await page.reload();
    await card.getByText("不得大于 16").waitFor();
  }, CHINESE),
);

test("arguments that belong together are told in Chinese", LIMIT, () =>
  scene(async (page) => {
    const form = await formOf(page, "time_reasoning");
    await form.getByLabel("operation").selectOption("diff");
    await form.getByLabel("value", { exact: true }).fill("now");
    await form.getByRole("button", { name: "运行" }).click();
    const card = page.locator("article[data-status=invalid_arguments]");
    await card.getByText("operation diff requires value2").first().waitFor();
    await card.getByText("使用 diff 时须填写 value2").waitFor();
  }, CHINESE),
);

test("each argument is explained in Chinese, where a tool is tried as well", LIMIT, () =>
  scene(async (page) => {
    const form = await formOf(page, "get_weather");
    await form.getByText("预报的天数，从今天算起。").waitFor();
    await form.getByText("摄氏度和 km/h，或华氏度和 mph。").waitFor();
    await counts(form.getByText("Days of forecast, today first."), 0);
    await page.goto(`${service.url}/admin/tools/tool/memory_recall`);
    await page.getByRole("button", { name: "发起调用" }).click();
    const tried = page.getByRole("form");
    await tried.getByText("最多行数。").waitFor();
    await tried.getByText("只查带有所有这些标签的记忆。").waitFor();
    await counts(tried.getByText("Maximum lines."), 0);
  }, CHINESE),
);

test("in English each argument keeps its own words", LIMIT, () =>
  scene(async (page) => {
    const form = await formOf(page, "get_weather");
    await form.getByText("Days of forecast, today first.").waitFor();
  }),
);

test("the fields of a rule that are wrong are told in Chinese", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/admin/rules/new`);
    await page.getByRole("tab", { name: "JSON 文本" }).click();
    await page
      .getByLabel("定义（JSON）")
      .fill('{"tool": "bash", "decision": "allow", "match": {"colour": "red"}}');
    await page.getByTestId("reach").getByText("没有效果：规则无效").waitFor();
    const alert = page.locator("main").getByRole("alert");
    await alert.getByText("输入不符合要求").waitFor();
    await alert.getByText("Extra inputs are not permitted").waitFor();
    await alert.getByText("没有这一项，请去掉").waitFor();
  }, CHINESE),
);
