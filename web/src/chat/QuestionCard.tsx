/** What a tool asks the user: offered answers, and always words of one's own. */
import { Button, Checkbox, Radio, TextInput } from "@mantine/core";
import { MessageCircleQuestion } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import type { ApiError } from "../api/client";
import type { QuestionAsked } from "../events/messages";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { ErrorView } from "../shell/ErrorView";
import { useConnection } from "../shell/identity";
import { UNSENT } from "./answerKeys";
import css from "./Dock.module.css";

interface Choice {
  id: string;
  label: string;
  description?: string;
}

interface Part {
  id: string;
  question: string;
  header: string;
  multi: boolean;
  choices: readonly Choice[];
}

interface Given {
  choices: readonly string[];
  text: string;
}

const NOTHING: Given = { choices: [], text: "" };

function partsOf(asked: QuestionAsked): Part[] {
  if (asked.questions !== undefined && asked.questions.length > 0) {
    return asked.questions.map((one) => ({
      id: one.id,
      question: one.question,
      header: one.header ?? "",
      multi: one.multi_select ?? false,
      choices: one.choices ?? [],
    }));
  }
  const choices = (asked.choices ?? []).map((label) => ({ id: label, label }));
  return [
    { id: "", question: asked.question, header: "", multi: asked.multi_select ?? false, choices },
  ];
}

function answerOf(given: Given): unknown {
  const words = given.text.trim();
  if (given.choices.length === 0) return words;
  if (words === "" && given.choices.length === 1) return given.choices[0];
  return words === "" ? given.choices : { choices: given.choices, text: words };
}

export function QuestionCard({ question }: { question: QuestionAsked }) {
  const { t } = useTexts();
  const heading = useId();
  const connection = useConnection();
  const parts = partsOf(question);
  const [given, setGiven] = useState<Readonly<Record<string, Given>>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const isBegun = Object.values(given).some((one) => one.choices.length > 0 || one.text !== "");
  const complete = parts.every((part) => {
    const one = given[part.id] ?? NOTHING;
    return one.choices.length > 0 || one.text.trim() !== "";
  });

  async function send(outcome: "answered" | "declined") {
    if (busy) return;
    setBusy(true);
    setError(null);
    const single = parts.length === 1 ? parts[0] : undefined;
    const value =
      single === undefined
        ? Object.fromEntries(parts.map((part) => [part.id, answerOf(given[part.id] ?? NOTHING)]))
        : answerOf(given[single.id] ?? NOTHING);
    try {
      await connection.command("question_response", {
        session_id: question.session_id,
        question_id: question.question_id,
        outcome,
        ...(outcome === "answered" ? { answer: value } : {}),
      });
    } catch (reason) {
      setError(asApiError(reason));
      setBusy(false);
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    if (complete) void send("answered");
  }

  return (
    <form
      className={`${css.card} ${css.question}`}
      aria-labelledby={heading}
      onSubmit={submit}
      {...(isBegun ? { [UNSENT]: true } : {})}
    >
      <header className={css.head}>
        <MessageCircleQuestion size={18} aria-hidden className={css.sign} />
        <h2 id={heading} className={css.title}>
          {t("question.title")}
        </h2>
      </header>
      <div className={css.body}>
        {parts.map((part) => (
          <QuestionPart
            key={part.id}
            part={part}
            given={given[part.id] ?? NOTHING}
            onChange={(next) => setGiven((former) => ({ ...former, [part.id]: next }))}
          />
        ))}
      </div>
      {error !== null && <ErrorView error={error} compact />}
      <div className={css.choices}>
        <Button variant="default" disabled={busy} onClick={() => void send("declined")}>
          {t("question.decline")}
        </Button>
        <Button type="submit" disabled={!complete || busy}>
          {t("question.answer")}
        </Button>
      </div>
    </form>
  );
}

interface PartProps {
  part: Part;
  given: Given;
  onChange: (given: Given) => void;
}

function QuestionPart({ part, given, onChange }: PartProps) {
  const { t } = useTexts();
  const text = useId();
  const Choose = part.multi ? Checkbox : Radio;
  const toggle = (id: string) => {
    const chosen = given.choices.includes(id);
    const others = part.multi ? given.choices.filter((one) => one !== id) : [];
    onChange({ ...given, choices: chosen && part.multi ? others : [...others, id] });
  };
  return (
    <fieldset className={css.part} aria-labelledby={text}>
      <p id={text} className={`${css.questionText} foreign`}>
        {part.header !== "" && <b>{visible(part.header)}: </b>}
        {visible(part.question)}
      </p>
      <div className={css.options}>
        {part.choices.map((choice) => (
          <Choose
            key={choice.id}
            name={part.multi ? undefined : `${text}-choice`}
            label={visible(choice.label)}
            description={choice.description === undefined ? undefined : visible(choice.description)}
            checked={given.choices.includes(choice.id)}
            onChange={() => toggle(choice.id)}
          />
        ))}
        <TextInput
          size="sm"
          aria-label={t("question.own")}
          placeholder={t("question.own")}
          maxLength={10_000}
          value={given.text}
          onChange={(event) => onChange({ ...given, text: event.currentTarget.value })}
        />
      </div>
    </fieldset>
  );
}
