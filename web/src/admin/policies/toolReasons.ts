/** Why a tool is off, and what would change that. */
import type { Schemas } from "../../api/client";
import type { Language, Translate } from "../../i18n";
import { codeWords } from "../../i18n/words";
import { word } from "../parts/Page";

interface Reader {
  t: Translate;
  language: Language;
}

type Tool = Pick<Schemas["Diagnostic"], "name" | "reason" | "asks_by">;

/** A reason in the reader's language, with its fix. */
export function toldReason(reason: Schemas["Reason"], name: string, language: Language): string {
  const english = language === "zh" ? reason.message : `${reason.message}. ${reason.fix}`;
  return codeWords(language, reason.code, reason.message, name) ?? english.replace("..", ".");
}

export function whyOff(tool: Tool, { t, language }: Reader): string | null {
  if (tool.reason !== null) return toldReason(tool.reason, tool.name, language);
  return tool.asks_by === null
    ? null
    : t("tools.asks_by", { who: word(t, "tools.by", tool.asks_by) });
}
