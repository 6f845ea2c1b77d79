/** Short messages in the corner. */
import { notifications } from "@mantine/notifications";
import { asApiError } from "../events/sessionStore";
import { currentLanguage, translate } from "../i18n";
import { type FieldProblem, fetchFieldWords, fieldProblems, fieldSaid } from "../i18n/fieldWords";
import { fetchWords } from "../i18n/words";
import { visible } from "../shared/visible";
import { explain } from "./ErrorView";

/** Say what went wrong with something that the person did. */
export function notifyError(reason: unknown): void {
  if (currentLanguage() !== "zh") return showError(reason);
  void Promise.all([fetchWords(), fetchFieldWords()]).then(() => showError(reason));
}

function showError(reason: unknown): void {
  const error = asApiError(reason);
  const { what, detail, fix } = explain(error, translate);
  const fields = currentLanguage() === "zh" ? fieldProblems(error.details).flatMap(told) : [];
  notifications.show({
    color: "red",
    title: translate("error.title"),
    message: [what, ...fields, fix, detail].filter((line) => line !== null).join("\n"),
    styles: { description: { whiteSpace: "pre-line" } },
    autoClose: 9000,
    closeButtonProps: { "aria-label": translate("common.close") },
  });
}

/** A field's line; what has no words stands in the service's sentence alone. */
function told(problem: FieldProblem): string[] {
  const { what } = fieldSaid("zh", problem);
  return what === problem.message ? [] : [`${visible(problem.path)}：${what}`];
}

export function notifyDone(message: string): void {
  notifications.show({
    message,
    autoClose: 4000,
    closeButtonProps: { "aria-label": translate("common.close") },
  });
}
