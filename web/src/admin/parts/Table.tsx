/** A table that scrolls by itself; on a phone each row is a block of its own. */
import { Checkbox } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
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
  /** Draw only the rows in view: for tables of thousands of cells. */
  virtual?: boolean;
}

/** Height of a row that has not been drawn yet. */
const ROW_PX = 51;
const OVERSCAN = 5;

export function Table<Row>({ label, rows, columns, id, empty, choice, virtual }: Props<Row>) {
  const { t } = useTexts();
  const { box, shown, before, after, measure } = useRowsInView(rows, virtual ?? false);
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  const lead =
    columns.find((column) => column.title) ?? columns.find((column) => column.wide) ?? columns[0];
  return (
    <div ref={box} className={css.tableBox} tabIndex={0} role="region" aria-label={label}>
      <table className={css.table} aria-rowcount={virtual ? rows.length + 1 : undefined}>
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
          {before > 0 && <tr aria-hidden style={{ height: before }} />}
          {shown.map(({ row, index }) => (
            <tr
              key={id(row)}
              ref={virtual ? measure : undefined}
              data-index={virtual ? index : undefined}
              aria-rowindex={virtual ? index + 2 : undefined}
              data-chosen={choice?.chosen.has(id(row))}
            >
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
          {after > 0 && <tr aria-hidden style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  );
}

/** The rows to draw, and the heights of those before and after them. */
function useRowsInView<Row>(rows: readonly Row[], virtual: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const page = () => box.current?.closest<HTMLElement>("[data-scrolls]") ?? null;
  const view = useVirtualizer({
    count: rows.length,
    enabled: virtual,
    getScrollElement: page,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: top,
  });

  useLayoutEffect(() => {
    const scrolled = page();
    if (!virtual || box.current === null || scrolled === null) return;
    const from = scrolled.getBoundingClientRect().top - scrolled.scrollTop;
    setTop(box.current.getBoundingClientRect().top - from);
  });

  if (!virtual) {
    const shown = rows.map((row, index) => ({ row, index }));
    return { box, shown, before: 0, after: 0, measure: undefined };
  }
  const items = view.getVirtualItems();
  const shown = items.flatMap(({ index }) => {
    const row = rows[index];
    return row === undefined ? [] : [{ row, index }];
  });
  return {
    box,
    shown,
    before: (items[0]?.start ?? top) - top,
    after: items.length === 0 ? 0 : view.getTotalSize() - ((items.at(-1)?.end ?? 0) - top),
    measure: view.measureElement,
  };
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
