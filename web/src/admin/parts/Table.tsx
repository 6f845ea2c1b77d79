/** A table that scrolls by itself; on a phone each row is a block of its own. */
import { Checkbox } from "@mantine/core";
import type { ReactNode } from "react";
import { useTexts } from "../../i18n";
import { Empty } from "./Page";
import css from "./parts.module.css";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Figures stand at the end of their cell. */
  end?: boolean;
  /** Takes what room is left. */
  wide?: boolean;
  /** Heads the block of its row on a phone; else the first wide column does, or the first one. */
  title?: boolean;
}

/** Rows that can be ticked, by their ids. */
export interface Choice<Row> {
  chosen: ReadonlySet<string>;
  /** Names a row for whoever hears the page. */
  about: (row: Row) => string;
  onChoose: (rows: readonly Row[], chosen: boolean) => void;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id: (row: Row) => string;
  empty: ReactNode;
  choice?: Choice<Row>;
}

export function Table<Row>({ label, rows, columns, id, empty, choice }: Props<Row>) {
  const { t } = useTexts();
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  const lead =
    columns.find((column) => column.title) ?? columns.find((column) => column.wide) ?? columns[0];
  return (
    <div className={css.tableBox} tabIndex={0} role="region" aria-label={label}>
      <table className={css.table}>
        <thead>
          <tr>
            {choice !== undefined && <ChooseAll rows={rows} id={id} choice={choice} />}
            {columns.map((column) => (
              <th key={column.head} scope="col" data-end={column.end}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)} data-chosen={choice?.chosen.has(id(row))}>
              {choice !== undefined && (
                <td>
                  <Checkbox
                    size="xs"
                    aria-label={t("table.choose", { name: choice.about(row) })}
                    checked={choice.chosen.has(id(row))}
                    onChange={(event) => choice.onChoose([row], event.currentTarget.checked)}
                  />
                </td>
              )}
              {columns.map((column) => (
                <td
                  key={column.head}
                  data-head={column.head}
                  data-lead={column === lead || undefined}
                  data-end={column.end}
                  data-wide={column.wide}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ChooseAll<Row>(props: {
  rows: readonly Row[];
  id: (row: Row) => string;
  choice: Choice<Row>;
}) {
  const { rows, id, choice } = props;
  const { t } = useTexts();
  const count = rows.filter((row) => choice.chosen.has(id(row))).length;
  return (
    <th scope="col" className={css.chooseAll}>
      <Checkbox
        size="xs"
        label={<span aria-hidden>{t("table.choose_all")}</span>}
        aria-label={t("table.choose_all")}
        checked={count === rows.length}
        indeterminate={count > 0 && count < rows.length}
        onChange={(event) => choice.onChoose(rows, event.currentTarget.checked)}
      />
    </th>
  );
}
