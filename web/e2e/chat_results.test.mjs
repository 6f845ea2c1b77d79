/** What searches find and what is sent, as cards of the chat. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, reads, say } from "./harness.mjs";
import { ask, scene } from "./stage.mjs";

async function call(name, session_id, args) {
  const told = await ask("POST", `/tools/${name}/call`, { arguments: args, session_id });
  assert.equal(told.record?.success, true, JSON.stringify(told));
}

test("a search says where things lie, and what is sent can be looked at and downloaded", {
  timeout: 90_000,
}, async () => {
  await scene(
    async (page) => {
      await say(page, "hello");
      await page.getByText(/^You said: hello/).waitFor();
      const id = page.url().split("/").at(-1);
      await call("write_file", id, { path: "fruit.txt", content: "apple\npear\n<b>apple</b>\n" });
      await call("write_file", id, { path: "notes/tree.md", content: "an apple tree\n" });
      await call("file_search", id, { query: "apple" });
      await call("search", id, { query: "apple", scope: "files" });
      await call("send_media", id, { file_paths: ["notes/tree.md"], message: "The notes" });

      const log = page.getByRole("log");
      const cardOf = (name) =>
        log.getByRole("button", { name: new RegExp(`^${name}`), expanded: false });
      for (const name of ["file_search", "search", "send_media"]) {
        await cardOf(name).first().press("Enter");
      }
      const found = log.getByRole("list", { name: "Search results" }).first();
      await found.getByText("<b>apple</b>").waitFor();
      await reads(() => found.textContent(), /fruit\.txt2.*notes\/tree\.md1/);
      const link = log.getByRole("link", { name: /Download/ });
      const sent = await page.request.get(
        new URL(await link.getAttribute("href"), page.url()).href,
      );
      assert.equal(await sent.text(), "an apple tree\n");
      assert.deepEqual(await axeOf(page), []);
    },
    { bypassCSP: true },
  );
});
