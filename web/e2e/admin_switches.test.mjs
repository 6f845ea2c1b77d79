/** Many tools updated at once in a real browser, against the real service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, reads } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };

test(
  "a category goes off after what would change was seen, core tools only on purpose",
  LIMIT,
  async () => {
    await scene(async (page) => {
      const { tools } = await ask("GET", "/admin/tools?limit=500");
      const isOn = async (name) => (await ask("GET", `/admin/tools/${name}`)).choices.enabled;
      const category = tools.find((tool) => tool.name === "read_file").category;
      const members = tools.filter((tool) => tool.category === category).map((tool) => tool.name);
      await page.goto(`${service.url}/admin/tools/switches`);
      await page.getByText("Category", { exact: true }).click();
      await page
        .getByRole("button", { name: `Disable all… ${category}`, exact: true })
        .press("Enter");
      const dialog = page.getByRole("dialog");
      const shown = dialog.getByTestId("would-change");
      await shown.getByText(`${members.length} tools will change:`).waitFor();
      for (const name of members) await reads(() => shown.innerText(), new RegExp(name));
      assert.equal(await isOn("read_file"), true, "nothing is stored yet");
      assert.deepEqual(await axeOf(page), []);
      const off = dialog.getByRole("button", { name: "Disable all", exact: true });
      const core = dialog.getByRole("checkbox");
      if ((await core.count()) > 0) {
        await reads(() => off.isDisabled(), true);
        await core.check();
      }
      await off.click();
      await page.getByText(`${members.length} tools updated`).waitFor();
      assert.equal(await isOn("read_file"), false);

      // Why it is off stands in the catalog, in the reader's language too.
      await page.goto(`${service.url}/admin/tools`);
      await page.getByRole("textbox", { name: "Search" }).fill("read_file");
      await page.getByText("Tool 'read_file' is disabled by an administrator").waitFor();
      await page.evaluate('localStorage.setItem("tollgate-language", "zh")');
      await page.reload();
      await page.getByRole("textbox", { name: "搜索" }).fill("read_file");
      await page.getByText("管理员已停用 read_file").waitFor();
      await page.evaluate('localStorage.setItem("tollgate-language", "en")');

      await page.goto(`${service.url}/admin/tools/switches`);
      await page.getByText("Category", { exact: true }).click();
      await page.getByRole("button", { name: `Enable all… ${category}`, exact: true }).click();
      await dialog.getByRole("button", { name: "Enable all", exact: true }).click();
      await page.getByText(`${members.length} tools updated`).waitFor();
      assert.equal(await isOn("read_file"), true);
    });
  },
);
