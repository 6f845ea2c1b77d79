/** Words of connections: their verdicts, and in Chinese why they were refused. */
import type { Language, TextKey, Translate } from ".";
import { wordOf } from "./lazily";

const VERDICTS: Readonly<Record<string, TextKey>> = {
  open: "network.open",
  allowed: "network.allowed",
  refused: "network.refused",
  lost: "network.lost",
};

/** The word of a verdict; its own name where we have none. */
export function verdictSaid(t: Translate, verdict: string): string {
  const key = Object.hasOwn(VERDICTS, verdict) ? VERDICTS[verdict] : undefined;
  return key === undefined ? verdict : t(key);
}

const CHINESE: Readonly<Record<string, string>> = {
  not_allowed: "此项目不允许连接该主机",
  address_refused: "该主机的地址不允许访问",
  mismatch: "请求中的主机与所连接的主机不一致",
  bad_request: "程序的请求无效或不完整",
  unreachable: "无法连接到该主机",
  limit_exceeded: "该命令的连接过多",
};

/** Why: by its code, and the service's sentence beneath. The sentence alone in English, and for a code that is not known. */
export function refusalSaid(
  language: Language,
  code: string | null,
  sentence: string,
): { what: string; detail: string | null } {
  const words = language === "zh" && code !== null ? wordOf(CHINESE, code) : null;
  return words === null ? { what: sentence, detail: null } : { what: words, detail: sentence };
}
