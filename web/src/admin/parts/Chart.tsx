/** Figures over time, drawn; and the same figures as a table for whoever cannot see them. */
import { useElementSize } from "@mantine/hooks";
import { useTexts } from "../../i18n";
import own from "./Chart.module.css";
import { labelEvery, roundAbove, ticksOf } from "./scale";
import { Table } from "./Table";

export interface Series {
  name: string;
  /** One for each key; null where there is nothing to say. */
  values: readonly (number | null)[];
}

interface Props {
  label: string;
  kind: "columns" | "lines";
  /** The days. */
  keys: readonly string[];
  series: readonly Series[];
  /** A figure in words. */
  show: (value: number) => string;
}

const HEIGHT = 190;
const TOP = 10;
const BOTTOM = 24;
const LEFT = 58;
const RIGHT = 8;

export function Chart(props: Props) {
  const { label, keys, series, show } = props;
  const { t, language } = useTexts();
  const { ref, width } = useElementSize();
  const told = (value: number | null | undefined) => (value == null ? "–" : show(value));
  const day = (key: string) =>
    new Date(`${key}T00:00:00Z`).toLocaleDateString(language === "zh" ? "zh-CN" : "en-GB", {
      day: "numeric",
      month: "short",
      timeZone: "UTC",
    });
  return (
    <figure className={own.chart}>
      {series.length > 1 && (
        <figcaption className={own.legend}>
          {series.map((one, index) => (
            <span key={one.name}>
              <svg width="10" height="10" aria-hidden>
                <rect width="10" height="10" rx="3" className={own.part} data-part={index} />
              </svg>
              {one.name}
            </span>
          ))}
        </figcaption>
      )}
      <div ref={ref} className={own.canvas}>
        {width > 0 && <Drawing {...props} width={width} day={day} />}
      </div>
      <details>
        <summary>{t("chart.table", { label })}</summary>
        <div className={own.table}>
          <Table
            label={label}
            rows={keys.map((key, index) => ({ key, index }))}
            id={(row) => row.key}
            empty=""
            columns={[
              { head: t("usage.by.day"), cell: (row) => day(row.key) },
              ...series.map((one) => ({
                head: one.name,
                end: true,
                cell: (row: { index: number }) => told(one.values[row.index]),
              })),
            ]}
          />
        </div>
      </details>
    </figure>
  );
}

interface DrawingProps extends Props {
  width: number;
  day: (key: string) => string;
}

function Drawing({ label, kind, keys, series, show, width, day }: DrawingProps) {
  const inner = Math.max(1, width - LEFT - RIGHT);
  const depth = HEIGHT - TOP - BOTTOM;
  const step = inner / Math.max(1, keys.length);
  const sums = keys.map((_, index) =>
    series.reduce((sum, one) => sum + (one.values[index] ?? 0), 0),
  );
  const most =
    kind === "columns"
      ? Math.max(0, ...sums)
      : Math.max(0, ...series.flatMap((one) => one.values.map((value) => value ?? 0)));
  const top = roundAbove(most);
  const x = (index: number) => LEFT + step * (index + 0.5);
  const y = (value: number) => TOP + depth * (1 - value / top);
  const every = labelEvery(keys.length, inner);
  const told = (index: number) =>
    [
      day(keys[index] ?? ""),
      ...series.map((one) => `${one.name}: ${said(one.values[index])}`),
    ].join("\n");
  const said = (value: number | null | undefined) => (value == null ? "–" : show(value));
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={label}>
      {ticksOf(top).map((tick) => (
        <g key={tick} className={own.axis}>
          <line x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
          <text x={LEFT - 8} y={y(tick) + 4} textAnchor="end">
            {show(tick)}
          </text>
        </g>
      ))}
      {keys.map((key, index) =>
        (keys.length - 1 - index) % every === 0 ? (
          <text
            key={key}
            className={own.day}
            // The last one ends with its column: half of it would stand outside.
            x={index === keys.length - 1 ? width - RIGHT : x(index)}
            y={HEIGHT - 6}
            textAnchor={index === keys.length - 1 ? "end" : "middle"}
          >
            {day(key)}
          </text>
        ) : null,
      )}
      {kind === "columns"
        ? keys.map((key, index) => {
            let below = 0;
            return series.map((one, part) => {
              const value = one.values[index] ?? 0;
              if (value === 0) return null;
              below += value;
              return (
                <rect
                  key={`${key}-${one.name}`}
                  className={own.part}
                  data-part={part}
                  x={x(index) - Math.min(18, step * 0.36)}
                  width={Math.min(36, step * 0.72)}
                  y={y(below)}
                  height={Math.max(1, (depth * value) / top)}
                />
              );
            });
          })
        : series.map((one, part) => (
            <g key={one.name} className={own.line} data-part={part}>
              {stretches(one.values).map((stretch) => (
                <polyline
                  key={stretch[0]}
                  points={stretch.map((at) => `${x(at)},${y(one.values[at] ?? 0)}`).join(" ")}
                />
              ))}
              {one.values.map((value, index) =>
                value === null ? null : (
                  <circle key={keys[index]} cx={x(index)} cy={y(value)} r={3} />
                ),
              )}
            </g>
          ))}
      {keys.map((key, index) => (
        <rect
          key={key}
          className={own.touch}
          x={LEFT + step * index}
          y={TOP}
          width={step}
          height={depth}
        >
          <title>{told(index)}</title>
        </rect>
      ))}
    </svg>
  );
}

/** Runs of places that have a value: a line is not drawn over a gap. */
function stretches(values: readonly (number | null)[]): number[][] {
  const found: number[][] = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last !== undefined && last.at(-1) === index - 1) last.push(index);
    else found.push([index]);
  });
  return found;
}
