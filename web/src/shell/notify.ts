/** Short messages in the corner. */
import { notifications } from "@mantine/notifications";
import { asApiError } from "../events/sessionStore";
import { currentLanguage, translate } from "../i18n";
import { fetchWords } from "../i18n/words";
import { explain } from "./ErrorView";

/** Say what went wrong with something that the person did. */
export function notifyError(reason: unknown): void {
  if (currentLanguage() === "zh") void fetchWords().then(() => showError(reason));
  else showError(reason);
}

function showError(reason: unknown): void {
  const { what, detail, fix } = explain(asApiError(reason), translate);
  notifications.show({
    color: "red",
    title: translate("error.title"),
    message: [what, fix, detail].filter((line) => line !== null).join("\n"),
    styles: { description: { whiteSpace: "pre-line" } },
    autoClose: 9000,
    closeButtonProps: { "aria-label": translate("common.close") },
  });
}

export function notifyDone(message: string): void {
  notifications.show({
    message,
    autoClose: 4000,
    closeButtonProps: { "aria-label": translate("common.close") },
  });
}
