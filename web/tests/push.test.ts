import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { takeIntent } from "../src/approvals/intent";
import { deviceName, support } from "../src/push/worker";

const PAGE = "https://tollgate.example/approvals/cfm_1";

/** What the Cache API keeps, which the tests' browser lacks. */
function cacheOf(notes: Map<string, string>) {
  const cache = {
    match: async (page: string) => {
      const note = notes.get(page);
      return note === undefined ? undefined : { text: async () => note };
    },
    delete: async (page: string) => notes.delete(page),
  };
  return { open: async () => cache };
}

describe("the note of a press on decline", () => {
  const notes = new Map<string, string>();
  beforeEach(() => vi.stubGlobal("caches", cacheOf(notes)));
  afterEach(() => {
    vi.unstubAllGlobals();
    notes.clear();
  });

  it("is taken once", async () => {
    notes.set(PAGE, "1000");
    expect(await takeIntent(PAGE, 2000)).toBe(true);
    expect(await takeIntent(PAGE, 2000)).toBe(false);
  });

  it("ends after five minutes, and counts for its page alone", async () => {
    notes.set(PAGE, "0");
    expect(await takeIntent(`${PAGE}0`, 1000)).toBe(false);
    expect(await takeIntent(PAGE, 5 * 60_000)).toBe(false);
    expect(notes.size).toBe(0);
  });

  it("is missing where nothing could have written it", async () => {
    vi.unstubAllGlobals();
    expect(await takeIntent(PAGE)).toBe(false);
  });
});

describe("devices", () => {
  it.each([
    [
      "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
      { browser: "Chrome", system: "Android" },
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
      { browser: "Safari", system: "iPhone" },
    ],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
      { browser: "Edge", system: "Windows" },
    ],
    [
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      { browser: "Firefox", system: "Linux" },
    ],
    ["curl/8", { browser: "Browser", system: "?" }],
  ])("are named by browser and system", (agent, name) => {
    expect(deviceName(agent)).toEqual(name);
  });

  it("need HTTPS, and a browser that has push", () => {
    vi.stubGlobal("isSecureContext", false);
    expect(support()).toBe("insecure");
    vi.stubGlobal("isSecureContext", true);
    expect(support()).toBe("missing");
    vi.unstubAllGlobals();
  });
});
