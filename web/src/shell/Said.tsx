/** What went wrong, by its machine code: in Chinese our words first, and the service's below. */
import { useTexts } from "../i18n";
import { codeWords, riskWord } from "../i18n/words";
import { visible } from "../shared/visible";

interface Props {
  code: string;
  message: string;
  /** Told when the code is the id of a rule: with the rule's own word, if it has one. */
  otherwise?: string;
  /** The tool that it is about. */
  tool?: string;
}

export function Said({ code, message, otherwise, tool }: Props) {
  const { language } = useTexts();
  const sentence = visible(message);
  const status = otherwise === undefined ? null : codeWords(language, otherwise, sentence, tool);
  const ruled = [status, riskWord(language, code)].filter((word) => word !== null).join("：");
  const words = codeWords(language, code, sentence, tool) ?? (status === null ? null : ruled);
  return <Lines what={words ?? sentence} detail={words === null ? null : sentence} />;
}

/** What a code means, where all that is there is the code; by itself where it has no words. */
export function Coded({ code }: { code: string }) {
  const { language } = useTexts();
  const word = riskWord(language, code) ?? codeWords(language, code, "");
  return word === null ? (
    <span className="foreign mono">{visible(code)}</span>
  ) : (
    <Lines what={word} detail={code} />
  );
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
