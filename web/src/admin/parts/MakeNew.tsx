/** A button that opens a form for something new, and shows what only its answer tells. */
import { Button, Modal } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { Output } from "../../renderers/Output";
import { ErrorView } from "../../shell/ErrorView";
import css from "./parts.module.css";

interface Props {
  label: string;
  children: ReactNode;
  /** Makes it; a secret is shown once. */
  make: () => Promise<{ secret?: string }>;
  onClosed?: () => void;
}

export function MakeNew({ label, children, make, onClosed }: Props) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const change = useMutation({
    mutationFn: make,
    onSuccess: ({ secret }) => {
      void queries.invalidateQueries({ queryKey: ["admin"] });
      if (secret === undefined) close();
    },
  });
  function close() {
    setOpen(false);
    change.reset();
    onClosed?.();
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate();
  }
  const secret = change.data?.secret;
  return (
    <>
      <Button leftSection={<Plus size={15} aria-hidden />} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Modal
        opened={open}
        onClose={close}
        closeOnClickOutside={secret === undefined}
        title={label}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        {secret === undefined ? (
          <form onSubmit={submit} className={css.stack}>
            {children}
            {change.error !== null && <ErrorView error={asApiError(change.error)} compact />}
            <div className={css.formFoot}>
              <Button type="submit" loading={change.isPending}>
                {t("common.create")}
              </Button>
            </div>
          </form>
        ) : (
          <div className={css.stack}>
            <p className={css.note} data-tone="warn" role="status">
              {t("common.secret_once")}
            </p>
            <Output text={secret} label={t("common.secret")} />
            <div className={css.formFoot}>
              <Button onClick={close}>{t("common.close")}</Button>
            </div>
          </div>
        )}
      </Modal>
    </>
  );
}
