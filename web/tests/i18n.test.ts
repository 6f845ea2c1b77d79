import { describe, expect, it } from "vitest";
import { ADMIN_GROUPS, ADMIN_PAGES } from "../src/admin/pages";
import { setLanguage, TEXTS, translate } from "../src/i18n";
import { admin } from "../src/i18n/texts/admin";
import { approvers } from "../src/i18n/texts/admin/approvers";
import { channelTexts } from "../src/i18n/texts/admin/notifications";
import { proposals } from "../src/i18n/texts/admin/proposals";
import { approval } from "../src/i18n/texts/approval";
import { approvals } from "../src/i18n/texts/approvals";
import { builder } from "../src/i18n/texts/builder";
import { chat } from "../src/i18n/texts/chat";
import { common as shared } from "../src/i18n/texts/common";
import { notifications } from "../src/i18n/texts/notifications";
import { shell } from "../src/i18n/texts/shell";

/** Every source of the pages, as text. */
const SOURCES = import.meta.glob<string>("../src/**/*.{ts,tsx}", {
  query: "?raw",
  import: "default",
  eager: true,
});

type Entry = [string, readonly [string, string?]];
const common: Entry[] = Object.entries(TEXTS);
const entries: Entry[] = [
  ...common,
  ...Object.entries(approvers),
  ...Object.entries(approval),
  ...Object.entries(approvals),
  ...Object.entries(proposals),
  ...Object.entries(builder),
  ...Object.entries(channelTexts),
  ...Object.entries(notifications),
];
const AT_RELEASE = process.env.CHECK_RELEASE === "1";
/** Words that Chinese readers know by these names. */
const BORROWED = /Shell|Webhooks?|Token|JSON|CSV|URL|SQL/gi;
const names = (text: string) => [...text.matchAll(/\{(\w+)/g)].map((found) => found[1]).sort();

describe("texts", () => {
  it.each(entries)("%s says the same in both languages", (_, pair) => {
    const [english, chinese] = pair;
    expect(english.trim()).not.toBe("");
    // Chinese is optional until a release.
    if (chinese === undefined && !AT_RELEASE) return;
    expect(chinese?.trim() ?? "").not.toBe("");
    expect(new Set(names(chinese ?? ""))).toEqual(new Set(names(english)));
  });

  it("has Chinese in Chinese, but for names and figures", () => {
    const foreign = entries.filter(([, [, chinese = ""]]) => {
      const words = chinese
        .replace(/\{[^}]*\}/g, "")
        .replace(/`[^`]*`/g, "")
        .replace(BORROWED, "");
      return /\p{L}/u.test(words) && !/\p{Script=Han}/u.test(words);
    });
    expect(foreign.map(([key]) => key)).toEqual([]);
  });

  it("gives every key to one area alone", () => {
    const areas = [shell, chat, shared, admin].map((texts) => Object.keys(texts).length);
    expect(common).toHaveLength(areas.reduce((sum, count) => sum + count, 0));
  });

  it("has the titles of the menu before an admin page is loaded", () => {
    const titles = [...ADMIN_GROUPS, ...ADMIN_PAGES].map(({ title }) => title);
    expect(titles.filter((title) => !(title in shared))).toEqual([]);
  });

  it("has what other pages say before an admin page is loaded", () => {
    const late = Object.keys(admin);
    const early = Object.entries(SOURCES).filter(([path]) => !/\/(admin|i18n)\//.test(path));
    expect(early.length).toBeGreaterThan(50);
    const used = early.flatMap(([path, source]) =>
      [...source.matchAll(/\bt\(\s*(?:"([\w.]+)"|`([\w.]+\.)\$)/g)].map(
        ([, key, begin]) => [path, key ?? begin ?? ""] as const,
      ),
    );
    const says = (begin: string, key: string) =>
      begin.endsWith(".") ? key.startsWith(begin) : key === begin;
    const known = (begin: string) => common.some(([key]) => says(begin, key) && !(key in admin));
    expect(
      used.filter(([, begin]) => late.some((key) => says(begin, key)) && !known(begin)),
    ).toEqual([]);
  });

  it("fills in values and takes the form that fits a number", () => {
    setLanguage("en");
    expect(translate("target.files", { count: 1 })).toBe("1 file");
    expect(translate("target.files", { count: 3 })).toBe("3 files");
    expect(translate("target.files", { count: 3 }, "zh")).toBe("3 个文件");
  });

  it("leaves a value that is missing visible", () => {
    expect(translate("page.forbidden")).toContain("{scope}");
  });

  it("does not read what it fills in as a template", () => {
    expect(translate("sessions.rename", { title: "{title}" })).toContain("{title}");
  });
});
