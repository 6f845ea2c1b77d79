/** A form that changes one thing. Who was overtaken by somebody else loads it anew. */
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import { notifyDone } from "../../shell/notify";
import css from "./parts.module.css";

interface Props<Saved> {
  save: () => Promise<Saved>;
  onSaved: (saved: Saved) => void;
  /** Reads again what is edited; for a change that came too late. */
  reload?: () => unknown;
  label?: string;
  disabled?: boolean;
  /** Stands before the button. */
  aside?: ReactNode;
  children: ReactNode;
}

export function SaveForm<Saved>(props: Props<Saved>) {
  const { save, onSaved, reload, label, disabled = false, aside, children } = props;
  const { t } = useTexts();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: save,
    onSuccess: (saved) => {
      notifyDone(t("common.saved"));
      void queries.invalidateQueries({ queryKey: ["admin"] });
      onSaved(saved);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate();
  }
  const error = change.error === null ? null : asApiError(change.error);
  const isLate = error?.code === "version_mismatch" && reload !== undefined;
  return (
    <form onSubmit={submit}>
      {children}
      {error !== null && (
        <ErrorView
          error={error}
          {...(isLate ? { onRetry: () => void reload(), retryLabel: t("common.reload") } : {})}
        />
      )}
      <div className={css.formFoot}>
        {aside}
        <Button type="submit" disabled={disabled} loading={change.isPending}>
          {label ?? t("common.save")}
        </Button>
      </div>
    </form>
  );
}
