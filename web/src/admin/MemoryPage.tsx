/** What agents remember, of everybody: to look up, to correct by forgetting. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../api/client";
import { useTexts } from "../i18n";
import { MemoryForm, MemoryImport } from "./MemoryForms";
import { AskFirst } from "./parts/AskFirst";
import { Chips, Foreign, When } from "./parts/Bits";
import { EditDialog } from "./parts/EditDialog";
import { Loaded, More, Page } from "./parts/Page";
import { ifMatch, usePages } from "./parts/pages";
import css from "./parts/parts.module.css";
import { Table } from "./parts/Table";

type Memory = Schemas["AdminMemory"];

export default function MemoryPage() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const [typed, setTyped] = useState("");
  const [words] = useDebouncedValue(typed.trim(), 300);
  const [scope, setScope] = useState("");
  const memories = usePages<Memory>(["memory", words, scope], async (before) => {
    const query = {
      limit: 50,
      ...(words === "" ? {} : { query: words }),
      ...(scope === "" ? {} : { scope: scope as Memory["scope"] }),
      ...(before === undefined ? {} : { before: Number(before) }),
    };
    const page = await data(api.GET("/api/v1/admin/memory", { params: { query } }));
    return { rows: page.memories, next: page.next_before };
  });
  // What is exported is what is searched for.
  const narrowed = new URLSearchParams({
    ...(words === "" ? {} : { query: words }),
    ...(scope === "" ? {} : { scope }),
  }).toString();
  const exported = `/api/v1/admin/memory/export?${narrowed}`;
  return (
    <Page
      title={t("admin.memory")}
      lead={t("memory.lead")}
      actions={
        <>
          <Button component="a" href={exported} download="memory.jsonl" variant="default">
            {t("audit.export")}
          </Button>
          <EditDialog label={t("memory.import")} isNew>
            {(ends) => <MemoryImport ends={ends} />}
          </EditDialog>
        </>
      }
    >
      <div className={css.bar}>
        <TextInput
          className={css.grow ?? ""}
          label={t("common.search")}
          placeholder={t("memory.search")}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <NativeSelect
          label={t("memory.scope")}
          value={scope}
          onChange={(event) => setScope(event.currentTarget.value)}
          data={[
            { value: "", label: t("filter.all") },
            ...(["agent", "user", "project"] as const).map((value) => ({
              value,
              label: t(`memory.scope.${value}`),
            })),
          ]}
        />
      </div>
      <Loaded query={memories}>
        {(rows) => (
          <Table
            label={t("admin.memory")}
            rows={rows}
            id={(memory) => memory.id}
            empty={t(words === "" && scope === "" ? "memory.empty" : "filter.nothing")}
            columns={[
              {
                head: t("memory.content"),
                wide: true,
                cell: (memory) => (
                  <>
                    <Foreign>{memory.content}</Foreign>
                    <span className={css.under}>
                      <Foreign mono>{memory.key}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("memory.scope"),
                cell: (memory) => (
                  <>
                    {t(`memory.scope.${memory.scope}`)}
                    <span className={css.under}>
                      <Foreign>{memory.owner}</Foreign>
                    </span>
                  </>
                ),
              },
              { head: t("memory.tags"), cell: (memory) => <Chips values={memory.tags} /> },
              { head: t("field.changed"), cell: (memory) => <When at={memory.updated_at} /> },
              {
                head: t("field.actions"),
                cell: (memory) => (
                  <div className={css.actions}>
                    <EditDialog label={t("common.edit")} about={memory.key}>
                      {(ends) => <MemoryForm memory={memory} ends={ends} />}
                    </EditDialog>
                    <AskFirst
                      label={t("memory.forget")}
                      about={memory.key}
                      what={t("memory.forget.what")}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/memory/{memory_id}", {
                            params: {
                              path: { memory_id: memory.id },
                              header: ifMatch(memory.version),
                            },
                          }),
                        )
                      }
                      onDone={() =>
                        void queries.invalidateQueries({ queryKey: ["admin", "memory"] })
                      }
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={memories} />
    </Page>
  );
}
