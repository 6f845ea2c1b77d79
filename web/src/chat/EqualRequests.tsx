/** Other requests of the run that ask for equal reasons: one answer can cover them. */
import { Checkbox } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ApiError, api, data, type Schemas } from "../api/client";
import type { ConfirmationRequest } from "../events/messages";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import css from "./Dock.module.css";

export type Equal = Schemas["EqualConfirmation"];

const NONE: readonly Equal[] = [];

/** Equal requests that are pending; none while there is no other request. */
export function useEqualRequests(request: ConfirmationRequest, others: boolean): readonly Equal[] {
  const query = useQuery<readonly Equal[], ApiError>({
    // The feed of the inbox has what is below it asked again with each change.
    queryKey: ["admin", "confirmations", "equal", request.confirmation_id],
    enabled: others && request.run_id != null,
    queryFn: async () => {
      const found = await data(
        api.GET("/api/v1/confirmations/{confirmation_id}", {
          params: { path: { confirmation_id: request.confirmation_id } },
        }),
      );
      return found.equal;
    },
  });
  return query.data ?? NONE;
}

interface Props {
  equal: readonly Equal[];
  /** Those that the answer covers, as they were shown when the person chose so. */
  chosen: readonly Equal[];
  disabled: boolean;
  onChange: (chosen: readonly Equal[]) => void;
}

export function EqualRequests({ equal, chosen, disabled, onChange }: Props) {
  const { t } = useTexts();
  const shown = chosen.length > 0 ? chosen : equal;
  if (shown.length === 0) return null;
  return (
    <div className={css.equal}>
      <Checkbox
        size="xs"
        label={t("confirm.equal", { count: shown.length })}
        checked={chosen.length > 0}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked ? equal : NONE)}
      />
      <details>
        <summary>{t("confirm.equal.which")}</summary>
        <ul>
          {shown.map((one) => (
            <li key={one.confirmation_id} className="foreign mono">
              {visible(one.title)}
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}
