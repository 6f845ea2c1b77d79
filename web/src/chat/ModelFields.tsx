/** What the model of a session is asked with: its name, how much it may write, its temperature. */
import { TextInput } from "@mantine/core";
import { useTexts } from "../i18n";
import type { ModelWords } from "./sessions";

interface Props {
  value: ModelWords;
  onChange: (value: ModelWords) => void;
  size?: "xs" | "sm";
}

export function ModelFields({ value, onChange, size = "sm" }: Props) {
  const { t } = useTexts();
  const field = (name: keyof ModelWords) => ({
    size,
    placeholder: t("chat.model.default"),
    value: value[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ ...value, [name]: event.currentTarget.value }),
  });
  return (
    <>
      <TextInput label={t("chat.model")} maxLength={200} {...field("model")} />
      <TextInput
        label={t("chat.model.answer")}
        type="number"
        min={1}
        max={1_000_000}
        {...field("answer")}
      />
      <TextInput
        label={t("chat.model.temperature")}
        type="number"
        min={0}
        max={2}
        step="any"
        {...field("temperature")}
      />
    </>
  );
}
