/** What went wrong, by its machine code: in Chinese our words first, and the service's below. */
import { useTexts } from "../i18n";
import { codeWords } from "../i18n/words";
import { visible } from "../shared/visible";

interface Props {
  code: string;
  message: string;
  /** Told when the code has no words, as the id of a rule has none. */
  otherwise?: string;
  /** The tool that it is about. */
  tool?: string;
}

export function Said({ code, message, otherwise, tool }: Props) {
  const { language } = useTexts();
  const sentence = visible(message);
  const words =
    codeWords(language, code, sentence, tool) ??
    (otherwise === undefined ? null : codeWords(language, otherwise, sentence, tool));
  return <Lines what={words ?? sentence} detail={words === null ? null : sentence} />;
}

/** A line in the reader's language, and the service's own under it. */
export function Lines({ what, detail }: { what: string; detail: string | null }) {
  return (
    <>
      <span className="foreign">{what}</span>
      {detail !== null && detail !== "" && (
        <small className="own-words foreign" lang="en">
          {detail}
        </small>
      )}
    </>
  );
}
