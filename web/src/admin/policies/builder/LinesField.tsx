/** A list with one entry per line; the lines stay as they are written. */
import { Textarea } from "@mantine/core";
import { useState } from "react";
import { listOf } from "./formModel";

interface Props {
  label: string;
  description: string;
  value: string;
  onChange: (written: string) => void;
}

export function LinesField({ label, description, value, onChange }: Props) {
  const [draft, setDraft] = useState(value);
  const isSame = listOf(draft).join("\n") === listOf(value).join("\n");
  return (
    <Textarea
      label={label}
      description={description}
      classNames={{ input: "mono" }}
      autosize
      minRows={1}
      maxRows={8}
      spellCheck={false}
      value={isSame ? draft : value}
      onChange={(event) => {
        setDraft(event.currentTarget.value);
        onChange(event.currentTarget.value);
      }}
    />
  );
}
