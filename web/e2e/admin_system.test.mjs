/** Settings and doctor in a real browser, against the real service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, counts, reads } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LOOKS = [
  ["en-GB", "light"],
  ["en-GB", "dark"],
  ["zh-CN", "light"],
  ["zh-CN", "dark"],
];
const LIMIT = { timeout: 120_000 };

for (const [locale, colorScheme] of LOOKS) {
  test(`settings and doctor in ${locale}, ${colorScheme}`, LIMIT, async () => {
    const options = { locale, colorScheme, viewport: { width: 380, height: 800 } };
    await scene(async (page) => {
      for (const path of ["settings", "doctor"]) {
        await page.goto(`${service.url}/admin/${path}`);
        await page.locator("main table").waitFor();
        assert.deepEqual(await axeOf(page), [], path);
        const wide = await page.evaluate(
          "document.querySelector('main').scrollWidth > document.documentElement.clientWidth",
        );
        assert.equal(wide, false, `${path} is wider than the window`);
        const folder = process.env.TOLLGATE_SHOTS;
        if (folder)
          await page.screenshot({ path: `${folder}/${path}-${locale}-${colorScheme}.png` });
      }
    }, options);
  });
}

test("what the doctor finds is told in Chinese, all of it", LIMIT, async () => {
  const { checks } = await ask("GET", "/admin/doctor");
  const wordy = (text) => /[a-z]{3,} [a-z]{2,} /.test(text);
  const english = checks.flatMap(({ meaning, found, fix }) => [meaning, found, fix]).filter(wordy);
  assert.ok(english.length > 10);
  await scene(
    async (page) => {
      await page.goto(`${service.url}/admin/doctor`);
      await page.locator("main table").waitFor();
      // The words for what is found come after the page.
      const left = async () => {
        const shown = await page.locator("main").innerText();
        return english.filter((words) => shown.includes(words));
      };
      await reads(left, []);
    },
    { locale: "zh-CN" },
  );
});

test("a setting is found by its variable, and its origin is told", LIMIT, () =>
  scene(async (page) => {
    await page.goto(`${service.url}/admin/settings`);
    await page.getByLabel("Search", { exact: true }).fill("TOLLGATE_LOG_LEVEL");
    const row = page.locator("main tbody tr");
    await row.filter({ hasText: "Environment" }).waitFor();
    await counts(row, 1);
    await reads(() => row.innerText(), /warning[\s\S]*Default: info/);
    assert.equal((await page.locator("main").innerText()).includes(service.token), false);
  }),
);

test("what the agent of everybody decides is told, and leads to its page", LIMIT, async () => {
  await ask("POST", "/admin/agents", { id: "default", max_iterations: 25 });
  try {
    await scene(async (page) => {
      await page.goto(`${service.url}/admin/settings`);
      await page.getByLabel("Origin").selectOption("database");
      const row = page.locator("main tbody tr");
      await row.filter({ hasText: "max_iterations" }).waitFor();
      await counts(row, 1);
      await reads(() => row.innerText(), /25[\s\S]*Default: 15/);
      await row.getByRole("link", { name: "Change without restart" }).click();
      await page.getByRole("heading", { name: "default" }).waitFor();
    });
  } finally {
    await ask("DELETE", "/admin/agents/default");
  }
});
