/** The real service, and a real browser in front of it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createConnection, createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PYTHON = process.env.TOLLGATE_PYTHON ?? `${ROOT}.venv/bin/python`;
const BROWSERS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
export const PATIENCE_MS = 60_000;

/** Start the service, as `words` want it; `stop` ends it. */
export async function startService(...words) {
  const child = spawn(PYTHON, ["web/e2e/service.py", ...words], {
    cwd: ROOT,
    env: { ...process.env, PYTHONPATH: ROOT, TOLLGATE_LOG_LEVEL: "warning" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`the service ended with ${code}`)));
  });
  return {
    ...JSON.parse(line),
    /** Let a message go on that has stopped in its middle. */
    goOn: () => child.stdin.write("\n"),
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** A request as a program makes it, beside the page; its answer, which must be no refusal. */
export async function request(service, method, path, body, headers = {}) {
  const answer = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${service.token}`,
      "content-type": "application/json",
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text && JSON.parse(text);
}

/** A browser; every page of it collects what it complains about. */
export async function startBrowser() {
  const executablePath = process.env.TOLLGATE_CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/**
 * A page that has signed in; `complaints` holds errors of its console, of scripts and of the CSP.
 *
 * Nothing fades in: a dialog that is half there has no contrast yet.
 */
export async function signedIn(browser, service, options = {}) {
  const looks = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" };
  const context = await browser.newContext({ ...looks, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints = listen(page);
  await page.goto(`${options.url ?? service.url}/`);
  await page.getByLabel(/Access token|访问令牌/).fill(service.token);
  await page.getByRole("button", { name: /^(Sign in|登录)$/ }).click();
  await page.getByRole("textbox", { name: /^(Message|消息)$/ }).waitFor();
  return { context, page, complaints };
}

// Being asked who one is before one has signed in is no fault, nor is a connection that is lost:
// the browser names it by its code or, where it ended before an answer began, in words.
const EXPECTED = /401|ERR_|closed before receiving a handshake response/;

export function listen(page) {
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !EXPECTED.test(message.text())) {
      complaints.push(message.text());
    }
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return complaints;
}

export const composer = (page) => page.getByRole("textbox", { name: /^(Message|消息)$/ });

export async function say(page, words) {
  await composer(page).fill(words);
  await composer(page).press("Enter");
}

/**
 * Wait until `read` gives `wanted`: a value, or a pattern that is found in it.
 *
 * What a page shows follows what was done to it, so an assertion about it reads more than once.
 */
export async function reads(read, wanted) {
  const fits = (value) =>
    wanted instanceof RegExp ? wanted.test(value) : isDeepStrictEqual(value, wanted);
  const until = Date.now() + PATIENCE_MS;
  let value = await read();
  while (!fits(value) && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    value = await read();
  }
  if (wanted instanceof RegExp) assert.match(value, wanted);
  else assert.deepEqual(value, wanted);
}

/** Wait until so many elements are there. */
export const counts = (locator, wanted) => reads(() => locator.count(), wanted);

let scanner;

/** What axe finds wrong with the page; it comes over the protocol, as scripts inline are forbidden. */
export function axeOf(page) {
  scanner ??= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  return page.evaluate(
    `${scanner}; axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes[0].html))`,
  );
}

/** A stretch of wire between browser and service that can be cut. */
export async function startWire(target) {
  const sockets = new Set();
  let open = true;
  const { hostname, port } = new URL(target);
  const server = createServer((near) => {
    if (!open) return near.destroy();
    const far = createConnection({ host: hostname, port: Number(port) });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut: () => {
      open = false;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => {
      open = true;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
