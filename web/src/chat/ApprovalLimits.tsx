/** Limits that a person sets to a standing approval: a shorter time, a number of calls. */
import { NumberInput } from "@mantine/core";
import { useState } from "react";
import { useTexts } from "../i18n";
import type { Answer } from "./answering";
import css from "./Dock.module.css";

export type Limits = Pick<Answer, "expiresInS" | "maxUses">;
type Typed = string | number;

const MOST_MINUTES = 525_600;
const MOST_CALLS = 1000;

/** The limits, and the fields that set them. */
export function useLimits(): readonly [Limits, React.ReactNode] {
  const { t } = useTexts();
  const [minutes, setMinutes] = useState<Typed>("");
  const [calls, setCalls] = useState<Typed>("");
  const common = { size: "xs", allowDecimal: false, allowNegative: false, min: 1 } as const;
  const fields = (
    <div className={css.limits}>
      <NumberInput
        {...common}
        hideControls
        max={MOST_MINUTES}
        label={t("limits.minutes")}
        placeholder={t("limits.unset")}
        value={minutes}
        onChange={setMinutes}
      />
      <NumberInput
        {...common}
        hideControls
        max={MOST_CALLS}
        label={t("limits.calls")}
        placeholder={t("limits.unset")}
        value={calls}
        onChange={setCalls}
      />
    </div>
  );
  const limits = {
    ...(minutes === "" ? {} : { expiresInS: Number(minutes) * 60 }),
    ...(calls === "" ? {} : { maxUses: Number(calls) }),
  };
  return [limits, fields];
}
