/** Short messages in the corner. */
import { notifications } from "@mantine/notifications";
import { asApiError } from "../events/sessionStore";
import { translate } from "../i18n";
import { explain } from "./ErrorView";

/** Say what went wrong with something that the person did. */
export function notifyError(reason: unknown): void {
  const { what, fix } = explain(asApiError(reason), translate);
  notifications.show({
    color: "red",
    title: translate("error.title"),
    message: fix === null ? what : `${what} ${fix}`,
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
