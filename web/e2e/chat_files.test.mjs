/** Files that are dropped onto the place where one writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composer, say } from "./harness.mjs";
import { ask, scene } from "./stage.mjs";

async function drop(page, name, bytes) {
  const files = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(content)], fileName));
      return transfer;
    },
    [name, [...bytes]],
  );
  await composer(page).dispatchEvent("drop", { dataTransfer: files });
}

test("a text file goes along with its name, and what is none is refused plainly", {
  timeout: 90_000,
}, async () => {
  await scene(async (page) => {
    await drop(page, "archive.zip", Buffer.from([80, 75, 3, 4, 0, 0]));
    await page.getByText(/“archive.zip” is neither a picture/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Remove archive.zip" }).count(), 0);

    await drop(page, "list.csv", Buffer.from("name,price\nbread,3\n<b>x</b>,4\n"));
    await page.getByRole("button", { name: "Remove list.csv" }).waitFor();
    await say(page, "what is dear");
    await page.getByText(/^You said: what is dear/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Remove list.csv" }).count(), 0);

    const log = page.getByRole("log");
    await log.getByRole("button", { name: "list.csv", expanded: false }).press("Enter");
    await log.getByRole("group", { name: "list.csv" }).getByText("<b>x</b>,4").waitFor();

    const id = page.url().split("/").at(-1);
    const [{ content }] = (await ask("GET", `/sessions/${id}/messages`)).messages;
    assert.equal(content[1].text, "File `list.csv`:\n```\nname,price\nbread,3\n<b>x</b>,4\n```");

    await page.getByRole("button", { name: "Edit and send again" }).first().focus();
    await page.keyboard.press("Enter");
    const field = page.getByRole("textbox", { name: "Your message" });
    assert.equal(await field.inputValue(), "what is dear");
    await field.fill("what is cheap");
    await field.press("Enter");
    await page.getByText(/^You said: what is cheapFile/).waitFor();
  });
});
