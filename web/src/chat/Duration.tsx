/** How long a call took, or takes so far. */
import type { Call } from "../events/model";
import { type Language, useTexts } from "../i18n";
import { useNow } from "../shared/useNow";
import css from "./CallCard.module.css";
import { isOver } from "./callStatus";

export function Duration({ call }: { call: Call }) {
  const { language } = useTexts();
  const running = !isOver(call);
  const now = useNow(running);
  const ms = call.durationMs ?? (running ? now - Date.parse(call.startedAt) : null);
  if (ms === null || ms < 0.5 || (running && ms < 1000)) return null;
  return <span className={css.duration}>{duration(ms, language)}</span>;
}

const UNITS = {
  en: { ms: " ms", s: " s", min: " min", h: " h", between: " " },
  zh: { ms: "毫秒", s: "秒", min: "分", h: "小时", between: "" },
};

/** In words as short as a card's corner: `12 ms`, `1.5 s`, `2 min 3 s`. */
export function duration(ms: number, language: Language): string {
  const unit = UNITS[language];
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}${unit.ms}`;
  const seconds = ms / 1000;
  if (seconds < 60) {
    const digits = { maximumFractionDigits: seconds < 10 ? 1 : 0 };
    return `${seconds.toLocaleString(language, digits)}${unit.s}`;
  }
  const minutes = Math.floor(seconds / 60);
  const parts =
    minutes < 60
      ? [`${minutes}${unit.min}`, `${Math.floor(seconds % 60)}${unit.s}`]
      : [`${Math.floor(minutes / 60)}${unit.h}`, `${minutes % 60}${unit.min}`];
  return parts.join(unit.between);
}
