/** Changes what the model of a session is asked with, from its next request on. */
import { Button, Modal } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { ErrorView } from "../shell/ErrorView";
import { notifyDone } from "../shell/notify";
import css from "./Chat.module.css";
import { ModelFields } from "./ModelFields";
import { modelWords, type SessionView, useModelChange } from "./sessions";

export default function ModelDialog(props: { session: SessionView; onClose: () => void }) {
  const { session, onClose } = props;
  const { t } = useTexts();
  const [words, setWords] = useState(modelWords(session));
  const change = useModelChange(session.id);

  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate(words, {
      onSuccess: () => {
        notifyDone(t("common.saved"));
        onClose();
      },
    });
  }

  return (
    <Modal
      opened
      onClose={onClose}
      title={t("chat.model.settings")}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <form onSubmit={submit} className={css.modelForm}>
        <p className={css.modelLead}>{t("chat.model.settings.lead")}</p>
        <ModelFields value={words} onChange={setWords} />
        {change.error !== null && <ErrorView error={asApiError(change.error)} compact />}
        <Button type="submit" loading={change.isPending}>
          {t("common.save")}
        </Button>
      </form>
    </Modal>
  );
}
