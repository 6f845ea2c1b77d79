/** A table that scrolls by itself where the window is narrow. */
import type { ReactNode } from "react";
import { Empty } from "./Page";
import css from "./parts.module.css";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Figures stand at the end of their cell. */
  end?: boolean;
  /** Takes what room is left. */
  wide?: boolean;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id: (row: Row) => string;
  empty: ReactNode;
}

export function Table<Row>({ label, rows, columns, id, empty }: Props<Row>) {
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div className={css.tableBox} tabIndex={0} role="region" aria-label={label}>
      <table className={css.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" data-end={column.end}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((column) => (
                <td key={column.head} data-end={column.end} data-wide={column.wide}>
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
