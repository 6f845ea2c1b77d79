/** Charts of what was called, in a real browser, against the real service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, counts, reads } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };

for (const [locale, colorScheme, words] of [
  ["en-GB", "light", { calls: "Tool calls", table: "Show as a table: Tool calls", fail: "Failed" }],
  ["zh-CN", "dark", { calls: "工具调用", table: "工具调用：表格", fail: "失败" }],
]) {
  test(`calls are drawn and told as a table: ${locale}, ${colorScheme}`, LIMIT, async () => {
    for (const expression of ["1+1", "2*3", "1/0"]) {
      await ask("POST", "/tools/calculator/call", { arguments: { expression } });
    }
    const { total } = await ask("GET", "/admin/usage/calls");
    assert.ok(total.statuses.success >= 2 && total.statuses.error >= 1);
    const options = { locale, colorScheme, viewport: { width: 380, height: 900 } };
    await scene(async (page) => {
      await page.goto(`${service.url}/admin/usage`);
      const chart = page.getByRole("img", { name: words.calls });
      await chart.waitFor();
      // One column of today, of what succeeded and what failed; nothing on other days.
      await counts(chart.locator("rect[data-part]"), 2);
      await page.getByText(words.table).focus();
      await page.keyboard.press("Enter");
      const table = page.getByRole("region", { name: words.calls }).first();
      const today = table.getByRole("row").last();
      await reads(() => today.innerText(), new RegExp(String(total.statuses.success)));
      await page.getByRole("columnheader", { name: words.fail }).first().waitFor();
      assert.deepEqual(await axeOf(page), []);
      const wide = await page.evaluate(
        "document.querySelector('main').scrollWidth > document.documentElement.clientWidth",
      );
      assert.equal(wide, false);
    }, options);
  });
}
