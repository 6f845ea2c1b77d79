/** What agents remember, of everybody: to look up, to correct by forgetting. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, data } from "../../api/client";
import { ROOT } from "../../api/root";
import { useTexts } from "../../i18n";
import { visible } from "../../shared/visible";
import { notifyDone } from "../../shell/notify";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Foreign, When } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { Loaded, More, Page } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { forgetEach, leftError, type Memory } from "./forgetting";
import { MemoryForm, MemoryImport } from "./MemoryForms";

const MOST_NAMED = 8;
const EXCERPT = 80;

const excerpt = (words: string) => (words.length > EXCERPT ? `${words.slice(0, EXCERPT)}…` : words);

const forget = (memory: Memory) =>
  data(
    api.DELETE("/api/v1/admin/memory/{memory_id}", {
      params: { path: { memory_id: memory.id }, header: ifMatch(memory.version) },
    }),
  );

export default function MemoryPage() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const [typed, setTyped] = useState("");
  const [words] = useDebouncedValue(typed.trim(), 300);
  const [scope, setScope] = useState("");
  // As they were when they were ticked: what has changed since is not forgotten unread.
  const [chosen, setChosen] = useState<ReadonlyMap<string, Memory>>(new Map());
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is not listed is not chosen
  useEffect(() => setChosen(new Map()), [words, scope]);
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
  const loadAnew = () => queries.invalidateQueries({ queryKey: ["admin", "memory"] });

  function choose(rows: readonly Memory[], isChosen: boolean) {
    const next = new Map(chosen);
    for (const row of rows) {
      if (isChosen) next.set(row.id, row);
      else next.delete(row.id);
    }
    setChosen(next);
  }

  async function forgetChosen() {
    const left = await forgetEach([...chosen.values()], forget);
    await loadAnew();
    if (left.size === 0) return;
    const error = leftError(chosen.size, left);
    setChosen(new Map([...left.keys()].map((memory) => [memory.id, memory])));
    throw error;
  }

  // What is exported is what is searched for.
  const narrowed = new URLSearchParams({
    ...(words === "" ? {} : { query: words }),
    ...(scope === "" ? {} : { scope }),
  }).toString();
  const exported = `${ROOT}/api/v1/admin/memory/export?${narrowed}`;
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
      {chosen.size > 0 && (
        <div className={css.bar} role="group" aria-label={t("memory.chosen.label")}>
          <span className={css.grow} role="status">
            {t("memory.chosen", { count: chosen.size })}
          </span>
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            onClick={() => setChosen(new Map())}
          >
            {t("memory.choose_none")}
          </Button>
          <AskFirst
            label={t("memory.forget_chosen")}
            what={<ForgetList memories={[...chosen.values()]} />}
            act={forgetChosen}
            onDone={() => {
              notifyDone(t("memory.forgotten", { count: chosen.size }));
              setChosen(new Map());
            }}
          />
        </div>
      )}
      <Loaded query={memories}>
        {(rows) => (
          <Table
            label={t("admin.memory")}
            rows={rows}
            id={(memory) => memory.id}
            choice={{
              chosen: new Set(chosen.keys()),
              about: (memory) => memory.key,
              onChoose: choose,
            }}
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
                      act={() => forget(memory)}
                      onDone={() => {
                        choose([memory], false);
                        void loadAnew();
                      }}
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

/** Named one by one: so many as a person reads, and how many more. */
function ForgetList({ memories }: { memories: readonly Memory[] }) {
  const { t } = useTexts();
  const more = memories.length - MOST_NAMED;
  return (
    <>
      {t("memory.forget.what_many", { count: memories.length })}
      <span className={css.named}>
        {memories.slice(0, MOST_NAMED).map((memory) => (
          <span key={memory.id}>
            <b>{visible(memory.key)}</b>: {excerpt(visible(memory.content))}
          </span>
        ))}
        {more > 0 && <span>{t("memory.forget.more", { count: more })}</span>}
      </span>
    </>
  );
}
