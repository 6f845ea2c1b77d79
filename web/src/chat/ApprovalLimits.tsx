/** Limits that a person sets to a standing approval: a shorter time, a number of calls. */
import { TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n";
import type { Answer } from "./answering";
import css from "./Dock.module.css";

export type Limits = Pick<Answer, "expiresInS" | "maxUses">;

const MOST_MINUTES = 525_600;
const MOST_CALLS = 1000;

/** The limits, null while one of them is no whole number in its range; and the fields that set them. */
export function useLimits(): readonly [Limits | null, ReactNode] {
  const { t } = useTexts();
  const [minutes, setMinutes] = useState("");
  const [calls, setCalls] = useState("");
  const fields = (
    <div className={css.limits}>
      {(
        [
          ["limits.minutes", MOST_MINUTES, minutes, setMinutes],
          ["limits.calls", MOST_CALLS, calls, setCalls],
        ] as const
      ).map(([label, most, value, change]) => (
        // A number field of the library would be a tenth of the page.
        <TextInput
          key={label}
          size="xs"
          inputMode="numeric"
          label={t(label)}
          placeholder={t("limits.unset")}
          value={value}
          error={isFit(value, most) ? undefined : t("limits.range", { most })}
          onChange={(event) => change(event.currentTarget.value)}
        />
      ))}
    </div>
  );
  if (!isFit(minutes, MOST_MINUTES) || !isFit(calls, MOST_CALLS)) return [null, fields];
  const limits = {
    ...(minutes.trim() === "" ? {} : { expiresInS: Number(minutes) * 60 }),
    ...(calls.trim() === "" ? {} : { maxUses: Number(calls) }),
  };
  return [limits, fields];
}

function isFit(typed: string, most: number): boolean {
  const value = Number(typed);
  return typed.trim() === "" || (Number.isInteger(value) && value >= 1 && value <= most);
}
