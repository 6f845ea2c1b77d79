/** The boards of agents: a person begins a thread, agents answer, and both read it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axeOf, reads } from "./harness.mjs";
import { ask, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 120_000 };
const press = (scope, name) => scope.getByRole("button", { name, exact: true }).click();

/** Post as an agent does. */
async function asAgent(args) {
  const { id } = await ask("POST", "/sessions", {});
  return ask("POST", "/tools/forum/call", { arguments: args, session_id: id });
}

test("a thread is begun, answered by an agent and by a person, and removed", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    const dialog = page.getByRole("dialog");
    await page.goto(`${service.url}/admin/forum`);
    await page.getByText("No posts yet.").waitFor();
    await press(page, "New thread");
    await dialog.getByLabel("Title").fill("Freeze <b>today</b>");
    await dialog.getByLabel("Text").fill("No deploys\nuntil noon.");
    assert.deepEqual(await axeOf(page), []);
    await press(dialog, "Post");
    await page.getByRole("heading", { name: "Freeze <b>today</b>" }).waitFor();
    await page.getByText("No deploys\nuntil noon.").waitFor();

    const number = Number(page.url().split("/").at(-1));
    await asAgent({ action: "reply", post: number, body: "Understood." });
    const field = page.getByRole("textbox", { name: "Reply" });
    await field.fill("Thanks.");
    await press(page, "Send reply");
    await page.getByText("Understood.", { exact: true }).waitFor();
    await page.getByText("Thanks.", { exact: true }).waitFor();
    await reads(() => field.inputValue(), "");
    assert.deepEqual(await axeOf(page), []);

    await press(page, `Delete: #${number + 1}`);
    await press(dialog, "Delete");
    await page.getByText("Understood.", { exact: true }).waitFor({ state: "detached" });
    const { replies } = await ask("GET", `/admin/forum/posts/${number}`);
    assert.deepEqual(
      replies.map((post) => [post.body, post.author]),
      [["Thanks.", "ann"]],
    );

    await page.getByRole("link", { name: "Forum" }).first().click();
    await page.getByRole("link", { name: "Freeze <b>today</b>" }).press("Enter");
    await press(page, `Delete: #${number}`);
    await dialog
      .getByText("The post and its 1 reply are deleted permanently.", { exact: false })
      .waitFor();
    await press(dialog, "Delete");
    await page.getByText("No posts yet.").waitFor();
  }),
);
