/** What the doctor finds, in Chinese. */
import { beforeAll, expect, test } from "vitest";
import { finding, layerSaid, levelSaid } from "../src/i18n/findings";
import { fetchWords } from "../src/i18n/words";

beforeAll(fetchWords);

const check = {
  code: "model_key",
  found_code: "not_set",
  values: { setting: "ANTHROPIC_API_KEY" } as Record<string, string>,
  name: "model key",
  state: "warning" as const,
  found: "not set",
  meaning: "needed to chat with a model; tools work without it",
  fix: "set ANTHROPIC_API_KEY",
};

test("a finding is told in Chinese by its codes, with what it names", () => {
  expect(finding("zh", check)).toEqual({
    name: "模型密钥",
    meaning: "与模型对话需要它；仅用工具则不需要",
    found: "未设置",
    fix: "设置 ANTHROPIC_API_KEY",
  });
  expect(finding("en", check)).toBe(check);
  const other = { ...check, code: "moon", found_code: "moon.full" };
  expect(finding("zh", other)).toBe(other);
});

test("nothing is told to be done where the service says nothing", () => {
  expect(finding("zh", { ...check, found_code: "set", state: "ok", fix: "" }).fix).toBe("");
});

test("why a tool is off is told by the code of the reason, which says what to do", () => {
  const off = {
    ...check,
    code: "tool",
    found_code: "off",
    name: "tool web_search",
    meaning: "Tool 'web_search' requires configuration: web.search_provider",
    fix: "Configure web.search_provider",
  };
  const named = { tool: "web_search", message: off.meaning, fix: off.fix };
  expect(finding("zh", { ...off, values: { ...named, reason: "missing_config" } })).toEqual({
    name: "工具 web_search",
    meaning: "web_search 缺少配置：web.search_provider。请补全配置。",
    found: "停用",
    fix: "",
  });
  const unknown = finding("zh", { ...off, values: { ...named, reason: "of_tomorrow" } });
  expect([unknown.meaning, unknown.fix]).toEqual([off.meaning, off.fix]);
});

test("a level of the sandbox is told by its code, with what the machine says", () => {
  const level = {
    available: false,
    asks: false,
    layers: [],
    missing: [],
    minimum_met: false,
    sentence: "Off: the service cannot become the user set for commands: it is not root.",
    code: "off.no_user",
    why: "it is not root",
  };
  expect(levelSaid("zh", level)).toBe("停用：服务无法切换到为命令设置的用户：it is not root");
  expect(levelSaid("en", level)).toBe(level.sentence);
  expect(levelSaid("zh", { ...level, code: "of.tomorrow" })).toBe(level.sentence);
});

test("a layer that is not there is told with what it is for", () => {
  expect(layerSaid("zh", "openat")).toBe("openat");
  expect(layerSaid("en", "landlock-net")).toBe("landlock-net");
  expect(layerSaid("zh", "landlock-net")).toBe("隔离层 landlock-net（限制程序可连接的地址）");
});
