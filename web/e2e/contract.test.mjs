/** The contract's lines about pages, each seen in a real browser: the ids stand in the titles. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { counts, reads, say } from "./harness.mjs";
import { ask, scene, service } from "./stage.mjs";

const LIMIT = { timeout: 90_000 };

const switchCalculator = (enabled) => ask("PATCH", "/admin/tools/calculator", { enabled });

/** A card of a call that has succeeded, unfolded. */
async function opened(page, at = 0) {
  const found = page.locator("article[data-status=success]").nth(at);
  await found.waitFor();
  const head = found.getByRole("button").first();
  if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
  return found;
}

test("[UI-01] a tool that no renderer was made for gets the default card", LIMIT, () =>
  scene(async (page) => {
    await say(page, 'call calculator {"expression": "6 * 7"}');
    await (await opened(page)).getByText("42", { exact: true }).first().waitFor();
  }),
);

test("[UI-02] a route that policy changes is shown as it is now", LIMIT, () =>
  scene(async (page) => {
    const route = async () => {
      await page.goto(`${service.url}/admin/tools/tool/calculator`);
      const told = page.locator("dt", { hasText: /^Runs in$/ }).locator("+ dd");
      await told.waitFor();
      return told.innerText();
    };
    const before = await route();
    await switchCalculator(false);
    assert.notEqual(before, "Disabled");
    await reads(route, "Disabled");
    await switchCalculator(true);
    await reads(route, before);
  }),
);

test("[UI-03] two pages show the same status and reason of one tool", LIMIT, () =>
  scene(async (page) => {
    await ask("POST", "/admin/agents", { id: "writer" });
    await switchCalculator(false);
    await page.goto(`${service.url}/admin/tools/agents`);
    await page.getByLabel("Search", { exact: true }).fill("calculator");
    const cell = page.locator("td", { has: page.getByLabel(/calculator.*writer/) });
    const inMatrix = cell.locator("[title]");
    await inMatrix.waitFor();
    const [state, reason] = [await inMatrix.innerText(), await inMatrix.getAttribute("title")];
    await page.goto(`${service.url}/admin/tools/tool/calculator`);
    await page.locator("main p", { hasText: reason }).waitFor();
    const told = page.locator("dt", { hasText: /^State$/ }).locator("+ dd");
    await reads(() => told.innerText(), state);
    await switchCalculator(true);
  }),
);

test("[UI-04] a call shows as running, and then as text, JSON or an image", LIMIT, () =>
  scene(async (page) => {
    const images = page.locator("article[data-status=success] img[src^='/api/v1/artifacts/']");
    writeFileSync(`${service.data}/workspace/dot.png`, png());
    writeFileSync(`${service.data}/workspace/words.txt`, "plain words\n");
    await say(page, "run sleep 2; echo rested");
    await page.locator("article[data-status=running]").waitFor();
    await (await opened(page)).getByText("rested").last().waitFor();
    await counts(page.locator("article[data-status=running]"), 0);
    await say(page, 'call read_file {"path": "words.txt"}');
    await (await opened(page, 1)).getByText("plain words").waitFor();
    const asked = { operation: "parse", json_string: '["leaf"]' };
    await say(page, `call json_process ${JSON.stringify(asked)}`);
    await (await opened(page, 2)).getByText('"leaf"', { exact: true }).waitFor();
    await counts(images, 0);
    await say(page, 'call read_file {"path": "dot.png"}');
    await images.waitFor();
  }),
);

test("[UI-05] history shows the function's name, not another one beside it", LIMIT, () =>
  scene(async (page) => {
    const { id } = await ask("POST", "/sessions", { title: "From elsewhere" });
    await ask("POST", "/tools/calls", {
      session_id: id,
      calls: [
        {
          id: "c1",
          type: "function",
          name: "somebody_elses_name",
          function: { name: "calculator", arguments: '{"expression": "1 + 1"}' },
        },
      ],
    });
    await page.goto(`${service.url}/chat/${id}`);
    await reads(async () => (await opened(page)).innerText(), /calculator/);
    await counts(page.getByText("somebody_elses_name"), 0);
  }),
);

/** A picture of one dot. */
function png() {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length);
    body.copy(framed, 4);
    framed.writeUInt32BE(crc(body), body.length + 4);
    return framed;
  };
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.from([0, 200, 80, 40]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
