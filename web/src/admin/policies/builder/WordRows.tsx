/** The words of a command, each with what may vary. */
import { ActionIcon, Button, NativeSelect, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useTextsOf } from "../../../i18n";
import { builder } from "../../../i18n/texts/builder";
import { wordInWords } from "../ruleWords";
import css from "./Builder.module.css";
import { patternOf, type Word } from "./formModel";

const KINDS = ["exact", "pattern", "one_of", "any", "rest"] as const;

interface Props {
  words: readonly Word[];
  onChange: (words: readonly Word[]) => void;
}

export function WordRows({ words: stored, onChange }: Props) {
  const own = useTextsOf(builder);
  // Places that are still empty are no part of the rule, and stand here until they are filled.
  const [draft, setDraft] = useState<readonly Word[]>(stored);
  const filled = draft.filter((word) => patternOf(word) !== null);
  const isSame = JSON.stringify(filled.map(patternOf)) === JSON.stringify(stored.map(patternOf));
  const words = isSame ? draft : stored;

  function put(changed: readonly Word[]) {
    setDraft(changed);
    onChange(changed.filter((word) => patternOf(word) !== null));
  }

  const change = (at: number, changes: Partial<Word>) =>
    put(words.map((word, index) => (index === at ? { ...word, ...changes } : word)));

  return (
    <fieldset className={css.words}>
      <legend>{own("words")}</legend>
      <p className={css.help}>{own("words.help")}</p>
      {words.length > 0 && (
        <ol className={css.wordList}>
          {words.map((word, at) => {
            const position = at + 1;
            const shown = asShown(word);
            const kinds = word.typed === undefined ? KINDS : ([...KINDS, "typed"] as const);
            return (
              <li key={at} className={css.word}>
                <TextInput
                  size="sm"
                  className={css.wordText ?? ""}
                  classNames={{ input: "mono" }}
                  aria-label={own("word", { position })}
                  disabled={shown !== null}
                  value={shown ?? word.text}
                  spellCheck={false}
                  autoCapitalize="none"
                  onChange={(event) => change(at, { text: event.currentTarget.value })}
                />
                <NativeSelect
                  size="sm"
                  className={css.wordKind ?? ""}
                  aria-label={own("word.kind", { position })}
                  value={word.kind}
                  data={kinds.map((kind) => ({ value: kind, label: own(`word.${kind}`) }))}
                  onChange={(event) =>
                    change(at, { kind: event.currentTarget.value as Word["kind"] })
                  }
                />
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="lg"
                  aria-label={own("word.remove", { position })}
                  onClick={() => put(words.filter((_, index) => index !== at))}
                >
                  <X size={15} aria-hidden />
                </ActionIcon>
              </li>
            );
          })}
        </ol>
      )}
      <div className={css.wordFoot}>
        <Button
          size="xs"
          variant="default"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => put([...words, { kind: "exact", text: "" }])}
        >
          {own("word.add")}
        </Button>
        {words.length > 0 && words.at(-1)?.kind !== "rest" && (
          <Button
            size="xs"
            variant="default"
            onClick={() => put([...words, { kind: "rest", text: "" }])}
          >
            {own("word.add_rest")}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

/** What stands in a place whose text is not written here; null for the others. */
function asShown({ kind, typed }: Word): string | null {
  if (kind === "any") return "*";
  if (kind === "rest") return "…";
  return kind === "typed" && typed !== undefined ? wordInWords(typed) : null;
}
