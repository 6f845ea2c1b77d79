/** Searching settings. */
import { describe, expect, test } from "vitest";
import { type Setting, wantedSettings } from "../src/admin/system/settingRows";

const row = (name: string, origin: Setting["origin"], help: string): Setting => ({
  name,
  environment_name: `TOLLGATE_${name.toUpperCase()}`,
  value: "1",
  default: "1",
  origin,
  help,
  is_secret: false,
  needs_restart: true,
});
const ROWS = [row("port", "environment", "Where it listens."), row("host", "default", "Address.")];
const names = (words: string, origin = "") =>
  wantedSettings(ROWS, words, origin).map((one) => one.name);

describe("wantedSettings", () => {
  test("finds every word, in name, variable or help, in any case", () => {
    expect(names("")).toEqual(["port", "host"]);
    expect(names("TOLLGATE_ho address")).toEqual(["host"]);
    expect(names("listens host")).toEqual([]);
  });

  test("keeps one origin", () => {
    expect(names("", "environment")).toEqual(["port"]);
    expect(names("host", "environment")).toEqual([]);
  });
});
