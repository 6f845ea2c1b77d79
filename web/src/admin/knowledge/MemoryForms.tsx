/** A memory to correct, and memories from a file. */
import { FileInput, NativeSelect, TagsInput, Textarea } from "@mantine/core";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { notifyDone } from "../../shell/notify";
import type { FormEnds } from "../parts/EditDialog";
import { changedOf, useFields } from "../parts/fields";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";

type Memory = Schemas["AdminMemory"];

export function MemoryForm({ memory, ends }: { memory: Memory; ends: FormEnds }) {
  const { t } = useTexts();
  const shown = { content: memory.content, tags: memory.tags };
  const { fields, text, names } = useFields(shown);
  return (
    <SaveForm
      {...ends}
      save={() =>
        data(
          api.PATCH("/api/v1/admin/memory/{memory_id}", {
            params: { path: { memory_id: memory.id }, header: ifMatch(memory.version) },
            body: changedOf(shown, fields),
          }),
        )
      }
    >
      <div className={css.stack}>
        <Textarea
          data-autofocus
          label={t("memory.content")}
          required
          autosize
          minRows={4}
          {...text("content")}
        />
        <TagsInput label={t("memory.tags")} acceptValueOnBlur {...names("tags")} />
      </div>
    </SaveForm>
  );
}

/** Each line is a memory, as an export has it. */
export async function memoriesIn(file: File): Promise<Schemas["MemoryToImport"][]> {
  const lines = (await file.text()).split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => JSON.parse(line) as Schemas["MemoryToImport"]);
}

export function MemoryImport({ ends }: { ends: FormEnds }) {
  const { t } = useTexts();
  const [file, setFile] = useState<File | null>(null);
  const [wrong, setWrong] = useState(false);
  const [conflict, setConflict] = useState<"fail" | "skip" | "replace">("fail");
  return (
    <SaveForm
      {...ends}
      label={t("memory.import")}
      disabled={file === null || wrong}
      save={async () =>
        data(
          api.POST("/api/v1/admin/memory/import", {
            body: {
              memories: file === null ? [] : await memoriesIn(file),
              on_conflict: conflict,
            },
          }),
        )
      }
      onSaved={(done) => {
        notifyDone(t("memory.imported", { ...done }));
        ends.onSaved();
      }}
    >
      <div className={css.stack}>
        <FileInput
          label={t("memory.file")}
          description={t("memory.file.help")}
          accept=".jsonl,.ndjson,application/x-ndjson"
          required
          error={wrong ? t("memory.file.wrong") : undefined}
          value={file}
          onChange={(chosen) => {
            setFile(chosen);
            setWrong(false);
            if (chosen !== null) void memoriesIn(chosen).catch(() => setWrong(true));
          }}
        />
        <NativeSelect
          label={t("memory.conflict")}
          value={conflict}
          onChange={(event) => setConflict(event.currentTarget.value as typeof conflict)}
          data={(["fail", "skip", "replace"] as const).map((value) => ({
            value,
            label: t(`memory.conflict.${value}`),
          }))}
        />
      </div>
    </SaveForm>
  );
}
