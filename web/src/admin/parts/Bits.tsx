/** Small things that many pages show: states, times, names, facts. */
import { CopyButton, UnstyledButton } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../../i18n";
import { visible } from "../../shared/visible";
import css from "./parts.module.css";

export type PillTone = "ok" | "warn" | "bad" | "note" | "quiet";

export function Pill({ tone, children }: { tone: PillTone; children: ReactNode }) {
  return (
    <span className={css.pill} data-tone={tone}>
      {children}
    </span>
  );
}

/** A moment, as the reader's own clock shows it. */
export function When({ at }: { at: string | null | undefined }) {
  const { language } = useTexts();
  if (at == null) return <span className={css.quiet}>–</span>;
  const moment = new Date(at);
  const today = moment.toDateString() === new Date().toDateString();
  const short = moment.toLocaleString(language === "zh" ? "zh-CN" : "en-GB", {
    ...(today ? {} : { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    ...(today ? { second: "2-digit" } : {}),
  });
  return (
    <time dateTime={at} title={moment.toLocaleString(language)} className={css.time}>
      {short}
    </time>
  );
}

/** Text that others wrote. */
export function Foreign({ children, mono = false }: { children: string; mono?: boolean }) {
  return <span className={mono ? "foreign mono" : "foreign"}>{visible(children)}</span>;
}

/** A long id: its end, the whole to copy. */
export function Id({ value }: { value: string | null | undefined }) {
  const { t } = useTexts();
  if (value == null || value === "") return <span className={css.quiet}>–</span>;
  const shown = value.length > 16 ? `…${value.slice(-8)}` : value;
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <UnstyledButton className={css.id} title={value} onClick={copy}>
          {visible(shown)}
          <span className="hidden-visually">{t(copied ? "common.copied" : "common.copy")}</span>
          {copied ? <Check size={12} aria-hidden /> : <Copy size={12} aria-hidden />}
        </UnstyledButton>
      )}
    </CopyButton>
  );
}

/** Names and values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Chips({ values }: { values: readonly string[] }) {
  const { t } = useTexts();
  if (values.length === 0) return <span className={css.quiet}>{t("common.none")}</span>;
  return (
    <span className={css.chips}>
      {values.map((value) => (
        <span key={value} className={`${css.chip} foreign`}>
          {visible(value)}
        </span>
      ))}
    </span>
  );
}

/** One figure with its name. */
export function Figure({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div className={css.figure}>
      <span className={css.figureValue}>{value}</span>
      <span className={css.figureName}>{name}</span>
    </div>
  );
}
