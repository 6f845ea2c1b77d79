/** How long a call took, or takes so far. */
import type { Call } from "../events/model";
import { useTexts } from "../i18n";
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

export function duration(ms: number, language: string): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) {
    return `${seconds.toLocaleString(language, { maximumFractionDigits: seconds < 10 ? 1 : 0 })} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
