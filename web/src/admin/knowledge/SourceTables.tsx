/** Which tables agents may read, and which of their columns stay hidden. */
import { Button, Checkbox, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import { Foreign, Pill } from "../parts/Bits";
import { Empty, Section } from "../parts/Page";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import own from "./SourceTables.module.css";
import { changeSource, type EditProps } from "./sourceEditing";
import {
  isMasked,
  keyOf,
  type Picks,
  picksOf,
  type Row,
  rowsOf,
  tablesOf,
  withMask,
  withTable,
} from "./sourcePicks";

const MOST_SHOWN = 200;

export function SourceTables({ source, reload, take }: EditProps) {
  const { t } = useTexts();
  const [picks, setPicks] = useState(() => picksOf(source.tables));
  const [words, setWords] = useState("");
  const look = useMutation({
    mutationFn: () =>
      data(
        api.GET("/api/v1/admin/data-sources/{source_id}/tables", {
          params: { path: { source_id: source.id } },
        }),
      ),
  });
  const rows = rowsOf(look.data?.tables ?? [], picks);
  const wanted = rows.filter((row) =>
    `${row.schema}.${row.name}`.toLowerCase().includes(words.trim().toLowerCase()),
  );
  return (
    <Section
      title={t("sources.tables.title")}
      lead={t("sources.tables.lead")}
      actions={
        <Button variant="default" loading={look.isPending} onClick={() => look.mutate()}>
          {t("sources.discover")}
        </Button>
      }
    >
      <SaveForm
        save={() => changeSource(source, { tables: tablesOf(picks) })}
        onSaved={take}
        reload={reload}
        aside={
          <span className={own.count} role="status">
            {t("sources.picked", { count: picks.size, total: rows.length })}
          </span>
        }
      >
        <div className={css.stack}>
          {look.error !== null && <ErrorView error={asApiError(look.error)} compact />}
          {look.data?.cut === true && <p className={css.note}>{t("sources.tables.cut")}</p>}
          {rows.length > 8 && (
            <TextInput
              label={t("common.search")}
              value={words}
              onChange={(event) => setWords(event.currentTarget.value)}
            />
          )}
          {rows.length === 0 ? (
            <Empty>
              {t(look.data === undefined ? "sources.tables.none" : "sources.no_tables")}
            </Empty>
          ) : (
            <ul className={own.tables} aria-label={t("sources.tables.title")}>
              {wanted.slice(0, MOST_SHOWN).map((row) => (
                <OneTable
                  key={row.key}
                  row={row}
                  picks={picks}
                  isKnown={look.data !== undefined}
                  onPick={setPicks}
                />
              ))}
            </ul>
          )}
          {wanted.length > MOST_SHOWN && (
            <p className={css.note}>{t("sources.narrow", { count: wanted.length })}</p>
          )}
          <ByHand
            schema={source.kind === "sqlite" ? "main" : (source.database ?? "")}
            onAdd={(key) => setPicks(withTable(picks, key, true))}
          />
        </div>
      </SaveForm>
    </Section>
  );
}

interface TableProps {
  row: Row;
  picks: Picks;
  /** Whether the database was asked, so that what is not found is not there. */
  isKnown: boolean;
  onPick: (picks: Picks) => void;
}

function OneTable({ row, picks, isKnown, onPick }: TableProps) {
  const { t } = useTexts();
  const masked = picks.get(row.key);
  const isAllowed = masked !== undefined;
  const name = `${row.schema}.${row.name}`;
  const columns =
    row.found?.columns ?? (masked ?? []).map((column) => ({ name: column, type: "" }));
  return (
    <li>
      <div className={own.head}>
        <Checkbox
          checked={isAllowed}
          onChange={(event) => onPick(withTable(picks, row.key, event.currentTarget.checked))}
          label={<Foreign mono>{name}</Foreign>}
        />
        {row.found?.kind === "view" && <Pill tone="quiet">{t("sources.view")}</Pill>}
        {row.found === null && isKnown && <Pill tone="warn">{t("sources.gone")}</Pill>}
        {isAllowed && masked.length > 0 && (
          <Pill tone="note">{t("sources.masked", { count: masked.length })}</Pill>
        )}
      </div>
      {row.found !== null && row.found.comment !== "" && (
        <span className={`${css.under} ${own.indent}`}>
          <Foreign>{row.found.comment}</Foreign>
        </span>
      )}
      {isAllowed && columns.length > 0 && (
        <details className={own.indent}>
          <summary>{t("sources.columns", { count: columns.length })}</summary>
          <fieldset className={own.columns}>
            <legend>{t("sources.mask", { table: name })}</legend>
            {columns.map((column) => (
              <Checkbox
                key={column.name}
                size="xs"
                checked={isMasked(masked, column.name)}
                onChange={(event) =>
                  onPick(withMask(picks, row.key, column.name, event.currentTarget.checked))
                }
                label={
                  <>
                    <Foreign mono>{column.name}</Foreign>{" "}
                    <span className={css.quiet}>
                      <Foreign>{column.type}</Foreign>
                    </span>
                  </>
                }
              />
            ))}
          </fieldset>
        </details>
      )}
    </li>
  );
}

/** For a table that cannot be looked up now. */
function ByHand({ schema, onAdd }: { schema: string; onAdd: (key: string) => void }) {
  const { t } = useTexts();
  const [typed, setTyped] = useState("");
  const dot = typed.indexOf(".");
  const [of, name] = dot < 0 ? [schema, typed] : [typed.slice(0, dot), typed.slice(dot + 1)];
  const isWhole = of.trim() !== "" && name.trim() !== "";
  function add() {
    onAdd(keyOf(of.trim(), name.trim()));
    setTyped("");
  }
  return (
    <details>
      <summary>{t("sources.by_hand")}</summary>
      <div className={css.bar}>
        <TextInput
          className={css.grow ?? ""}
          label={t("sources.by_hand.name")}
          description={t("sources.by_hand.help")}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            if (isWhole) add();
          }}
        />
        <Button variant="default" disabled={!isWhole} onClick={add}>
          {t("sources.by_hand.add")}
        </Button>
      </div>
    </details>
  );
}
