/** What a setting is for, in Chinese: by its name. In English the service's own words are shown. */
import type { Language } from ".";
import chinese from "./settings.zh.json";

const HELP: Readonly<Record<string, string>> = chinese;

/** The help in the reader's language; the service's own where there is no other. */
export function settingHelp(language: Language, name: string, help: string): string {
  return language === "zh" && Object.hasOwn(HELP, name) ? (HELP[name] ?? help) : help;
}
