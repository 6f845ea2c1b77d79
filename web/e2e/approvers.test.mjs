/** Requests that others must approve: set up by an administrator, approved by two people. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { axeOf, composer, counts, listen, reads, say } from "./harness.mjs";
import { ask, browser, sceneWithRefusals, service } from "./stage.mjs";

const LIMIT = { timeout: 180_000 };
const PHONE = { viewport: { width: 380, height: 760 }, isMobile: true, hasTouch: true };
const contexts = [];

after(() => Promise.all(contexts.map((context) => context.close())));

async function tokenOf(name, ...scopes) {
  return (await ask("POST", "/admin/tokens", { name, scopes, days: 1 })).secret;
}

/** A page on which somebody has signed in, wherever that has led. */
async function enter(token, options = {}) {
  const looks = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" };
  const context = await browser.newContext({ ...looks, locale: "en-GB", ...options });
  contexts.push(context);
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.complaints = listen(page);
  await page.goto(`${service.url}/`);
  await page.getByLabel(/Access token|访问令牌/).fill(token);
  await page.getByRole("button", { name: /^(Sign in|登录)$/ }).click();
  await page.getByLabel(/Access token|访问令牌/).waitFor({ state: "detached" });
  return page;
}

async function clean(page) {
  assert.deepEqual(await axeOf(page), []);
  const [wide, seen] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(wide <= seen, `${wide} > ${seen}`);
}

const enabled = (page, name) =>
  page.getByRole("button", { name }).and(page.locator(":enabled")).first();

async function addTag(scope, label, value) {
  const field = scope.getByLabel(label, { exact: true });
  await field.fill(value);
  await field.press("Enter");
  // The list of proposals stands outside of every region while it is open.
  await field.blur();
}

test("two approvers approve what an administrator has set up", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await page.goto(`${service.url}/admin/approvers/groups`);
    await page.getByText("No groups yet.").waitFor();
    await page.getByRole("button", { name: "New group" }).click();
    let dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Payments");
    await dialog.getByLabel("ID").fill("payments");
    await addTag(dialog, "Members", "bea");
    await clean(page);
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("cell", { name: "bea" }).waitFor();

    await page.getByRole("link", { name: "Policies", exact: true }).click();
    await page.getByRole("button", { name: "New policy" }).click();
    dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Production");
    await dialog.getByLabel("Owners of sessions").selectOption("some");
    await addTag(dialog, "Owners of sessions: …", "olga");
    await addTag(dialog, "Groups", "payments");
    await dialog.getByRole("button", { name: "Add a step" }).click();
    await dialog.getByRole("switch", { name: "The owner of the session too" }).nth(1).click();
    await dialog.getByLabel("People who must approve").fill("2");
    await dialog.getByLabel("Turns of the conversation to show").fill("2");
    await dialog.getByRole("switch", { name: /can't answer$/ }).click();
    await clean(page);
    await dialog.getByRole("button", { name: "Create" }).click();
    const row = page.getByRole("row", { name: /Production/ });
    await row.getByText("owner after 15 min").waitFor();
    await row.getByText("2 people · not the requester").waitFor();
    await clean(page);

    await row.getByRole("button", { name: /^Edit/ }).click();
    dialog = page.getByRole("dialog");
    const [stored] = (await ask("GET", "/admin/approval-policies")).policies;
    await ask("PATCH", `/admin/approval-policies/${stored.id}`, { position: 7 });
    await dialog.getByLabel("Position").fill("9");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Reload" }).click();
    await row.getByRole("cell", { name: "7", exact: true }).waitFor();
    await row.getByRole("button", { name: /^Edit/ }).click();
    await dialog.getByLabel("Position").fill("9");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row.getByRole("cell", { name: "9", exact: true }).waitFor();
    await row.getByText("owner after 15 min").waitFor();

    await page.goto(`${service.url}/admin/tokens`);
    await page.getByRole("button", { name: "New token" }).click();
    dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("zoe");
    await dialog.getByRole("checkbox", { name: "chat" }).uncheck();
    await dialog.getByRole("checkbox", { name: "tools:call" }).uncheck();
    await addTag(dialog, "Answer confirmations of these groups only", "payments");
    await clean(page);
    await dialog.getByRole("button", { name: "Create" }).click();
    const zoesToken = (await dialog.locator("pre").innerText()).trim();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await page.getByText("approve:payments").waitFor();

    const owner = await enter(await tokenOf("olga", "chat", "tools:call", "approve"));
    await say(owner, "hello there");
    await owner.getByText("You said: hello there").waitFor();
    await say(owner, "run rm -rf listed");
    await owner.getByText(/bars its requester/).waitFor();
    await counts(owner.getByText("the owner of the session"), 0);
    await owner.getByText("0 of 2 approvals").waitFor();
    await counts(owner.getByRole("button", { name: /Approve once/ }), 0);
    await clean(owner);

    const bea = await enter(await tokenOf("bea", "approve"), PHONE);
    await bea.getByRole("heading", { name: "Inbox" }).waitFor();
    await bea.getByText(/The policy “Production” asks payments/).waitFor();
    await bea.getByText("Conversation before the call").click();
    await bea.getByText("hello there", { exact: true }).waitFor();
    await reads(() => bea.title(), "(1) Tollgate");
    await counts(bea.getByText("Edit arguments"), 0);
    await counts(bea.getByText("Remember this approval"), 0);
    await clean(bea);
    await enabled(bea, /^Approve once/).click();
    await bea.getByText("You have approved; 1 more person must.").waitFor();
    await reads(() => bea.title(), "Tollgate");
    await counts(bea.getByRole("button", { name: /Approve once/ }), 0);
    await enabled(bea, /^Decline/).waitFor();
    await clean(bea);
    await owner.getByText("1 of 2 approvals").waitFor();
    await owner.getByText("Approved by bea; 1 more person must approve.").first().waitFor();

    const zoe = await enter(zoesToken, { locale: "zh-CN", colorScheme: "dark" });
    await zoe.getByText(/策略“Production”要求由payments审批/).waitFor();
    await counts(zoe.getByRole("link", { name: "我的代理人" }), 0);
    await clean(zoe);
    await enabled(zoe, /^批准一次/).click();
    await zoe.getByText("没有等待处理的事项。").waitFor();
    await owner.getByText("Approved by bea and zoe").waitFor();
    await owner.locator("[data-kind=run_end]").nth(1).waitFor();
    await clean(owner);
    await bea.getByText("No pending requests.").waitFor();
    await bea.getByRole("link", { name: "Answered" }).click();
    await bea.getByRole("cell", { name: "Approved" }).waitFor();
    await bea.getByRole("cell", { name: "bea and zoe" }).waitFor();
    await clean(bea);
    for (const one of [owner, bea, zoe]) assert.deepEqual(one.complaints, []);
  }),
);

test("an approver names a substitute, and an administrator sees them all", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    const carl = await enter(await tokenOf("carl", "approve"), PHONE);
    await carl.getByRole("link", { name: "My substitutes" }).click();
    await carl.getByText("No substitutes.").waitFor();
    await carl.getByRole("button", { name: "Name a substitute" }).click();
    const dialog = carl.getByRole("dialog");
    await dialog.getByLabel("Substitute").fill("sue");
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
    await dialog.getByLabel("Until").fill(tomorrow);
    await dialog.getByLabel("Note").fill("Holidays");
    await clean(carl);
    await dialog.getByRole("button", { name: "Create" }).click();
    await carl.getByRole("cell", { name: "Holidays" }).waitFor();
    await clean(carl);

    await page.goto(`${service.url}/admin/approvers/substitutes`);
    const row = page.getByRole("row", { name: /sue/ });
    await row.getByText("carl").waitFor();
    await clean(page);
    await row.getByRole("button", { name: /^Revoke/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("No substitutes.").waitFor();
    assert.deepEqual(carl.complaints, []);
  }),
);

test("a standing approval ends after a time and a number of calls", LIMIT, () =>
  sceneWithRefusals(async (page) => {
    await page.goto(`${service.url}/chat`);
    await composer(page).waitFor();
    await say(page, "run rm -rf standing");
    await page.getByText("Remember this approval").click();
    const calls = page.getByLabel("At most … calls");
    await calls.fill("0");
    await page.getByText("A whole number from 1 to 1000").waitFor();
    await counts(enabled(page, "Approve for this session"), 0);
    await calls.fill("3");
    await page.getByLabel("For … minutes").fill("5");
    await clean(page);
    await enabled(page, "Approve for this session").click();
    await page.locator("[data-kind=run_end]").waitFor();
    await page.goto(`${service.url}/admin/grants`);
    await page.getByText("3 left").waitFor();
    await clean(page);
  }),
);
