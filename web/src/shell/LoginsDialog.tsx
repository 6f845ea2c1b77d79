/** The browsers of one's own token. */
import { Modal } from "@mantine/core";
import { useTexts } from "../i18n";
import Logins from "./Logins";

export default function LoginsDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTexts();
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("logins.title")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <p>{t("logins.lead")}</p>
      <Logins />
    </Modal>
  );
}
