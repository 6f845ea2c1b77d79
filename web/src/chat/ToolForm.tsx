/** Arguments of one tool: a form made of its JSON Schema, or JSON as it stands. */
import { Button, NativeSelect, SegmentedControl, Switch, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useMemo, useState } from "react";
import { useTexts } from "../i18n";
import { argumentAbout } from "../i18n/argumentWords";
import { toolDescribed } from "../i18n/toolWords";
import { visible } from "../shared/visible";
import { Lines } from "../shell/Said";
import { parseObject } from "./ConfirmationCard";
import { argumentsOf, type Field, fieldsOf, type Values } from "./schema";
import css from "./ToolForm.module.css";
import type { ToolRow } from "./tools";

interface Props {
  tool: ToolRow;
  busy: boolean;
  onRun: (args: Record<string, unknown>) => void;
  onCancel: () => void;
}

export function ToolForm({ tool, busy, onRun, onCancel }: Props) {
  const { t, language } = useTexts();
  const fields = useMemo(() => fieldsOf(tool.parameters), [tool.parameters]);
  const [mode, setMode] = useState<"form" | "json">("form");
  const [values, setValues] = useState<Values>({});
  const [json, setJson] = useState("{}");
  const [tried, setTried] = useState(false);
  const { args, wrong } = argumentsOf(fields, values);
  const parsed = parseObject(json);

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (mode === "json" && parsed !== null) onRun(parsed);
    if (mode === "form" && wrong.length === 0) onRun(args);
  }

  function change(next: string) {
    // What was filled in goes along.
    if (next === "json") setJson(JSON.stringify(args, null, 2));
    setMode(next as "form" | "json");
  }

  return (
    <form
      className={css.form}
      aria-label={t("tool.run", { tool: tool.name })}
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <div className={css.head}>
        <b className="mono">/{tool.name}</b>
        <SegmentedControl
          size="xs"
          value={mode}
          onChange={change}
          aria-label={t("tool.mode")}
          data={[
            { value: "form", label: t("tool.form") },
            { value: "json", label: "JSON" },
          ]}
        />
      </div>
      <p className={css.about}>
        <Lines {...toolDescribed(language, tool.name, visible(tool.description))} />
      </p>
      <div className={css.fields}>
        {mode === "json" ? (
          <Textarea
            aria-label={t("tool.json")}
            classNames={{ input: "mono" }}
            autosize
            minRows={4}
            maxRows={14}
            spellCheck={false}
            value={json}
            error={parsed === null ? t("form.not_json") : undefined}
            onChange={(event) => setJson(event.currentTarget.value)}
          />
        ) : (
          fields.map((field, index) => (
            <FieldInput
              key={field.name}
              field={field}
              help={argumentAbout(language, tool.name, field.name, field.help)}
              first={index === 0}
              value={values[field.name]}
              error={tried && wrong.includes(field.name)}
              onChange={(value) => setValues((former) => ({ ...former, [field.name]: value }))}
            />
          ))
        )}
        {mode === "form" && fields.length === 0 && <p className={css.about}>{t("tool.no_args")}</p>}
      </div>
      <div className={css.foot}>
        <Button size="sm" variant="default" onClick={onCancel}>
          {t("common.cancel")}
        </Button>
        <Button size="sm" type="submit" loading={busy}>
          {t("tool.submit")}
        </Button>
      </div>
    </form>
  );
}

interface FieldProps {
  field: Field;
  help: string;
  first: boolean;
  value: string | boolean | undefined;
  error: boolean;
  onChange: (value: string | boolean) => void;
}

function FieldInput({ field, help, first, value, error, onChange }: FieldProps) {
  const { t } = useTexts();
  const shared = {
    label: field.name,
    description: help === "" ? undefined : visible(help),
    required: field.required,
    autoFocus: first,
    error: error ? t(field.kind === "json" ? "form.not_json" : "form.needed") : undefined,
  };
  const words = typeof value === "string" ? value : "";
  if (field.kind === "switch") {
    return (
      <Switch
        label={field.name}
        description={shared.description}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (field.kind === "choice") {
    return (
      <NativeSelect
        {...shared}
        size="sm"
        value={words}
        data={["", ...field.choices]}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  if (field.kind === "long" || field.kind === "json") {
    return (
      <Textarea
        {...shared}
        size="sm"
        autosize
        minRows={1}
        maxRows={8}
        classNames={{ input: "mono" }}
        placeholder={field.kind === "json" ? "JSON" : undefined}
        value={words}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return (
    <TextInput
      {...shared}
      size="sm"
      inputMode={field.kind === "number" ? "decimal" : undefined}
      value={words}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
