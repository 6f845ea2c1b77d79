/** Calls by day and by tool: how they ended, how long they took, how often people were asked. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Figure, Foreign } from "../parts/Bits";
import { Chart } from "../parts/Chart";
import { Empty, Loaded, Section } from "../parts/Page";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { along, fateSeries, fatesOf } from "./usageSeries";

type Report = Schemas["CallReport"];

function useCalls(by: "day" | "tool", since: string) {
  return useQuery({
    queryKey: ["admin", "usage", "calls", by, since],
    queryFn: () => data(api.GET("/api/v1/admin/usage/calls", { params: { query: { by, since } } })),
  });
}

/** A length of time as people say it. */
function useTimes() {
  const { language } = useTexts();
  const said = (value: number, unit: "millisecond" | "second") =>
    value.toLocaleString(language, {
      style: "unit",
      unit,
      unitDisplay: "short",
      maximumSignificantDigits: 3,
    });
  return (ms: number | null) =>
    ms === null ? "–" : ms < 1000 ? said(ms, "millisecond") : said(ms / 1000, "second");
}

export function CallCharts({ days }: { days: readonly string[] }) {
  const since = days[0] ?? "";
  const byDay = useCalls("day", since);
  const byTool = useCalls("tool", since);
  return (
    <>
      <Loaded query={byDay}>{(report) => <Days days={days} report={report} />}</Loaded>
      <Cost days={days} />
      <Loaded query={byTool}>{(report) => <Tools report={report} />}</Loaded>
    </>
  );
}

function Days({ days, report }: { days: readonly string[]; report: Report }) {
  const { t, language } = useTexts();
  const time = useTimes();
  const { total, groups } = report;
  const figure = (value: number) =>
    value.toLocaleString(language, { maximumFractionDigits: 1, notation: "compact" });
  if (total.calls === 0) {
    return (
      <Section title={t("usage.calls")} lead={t("usage.calls.lead")}>
        <Empty>{t("usage.calls.empty")}</Empty>
      </Section>
    );
  }
  return (
    <>
      <div className={css.figures}>
        <Figure name={t("usage.calls")} value={total.calls.toLocaleString(language)} />
        <Figure name={t("usage.p50")} value={time(total.p50_ms)} />
        <Figure name={t("usage.p95")} value={time(total.p95_ms)} />
        <Figure
          name={t("usage.prompts")}
          value={total.asked_per_100_calls?.toLocaleString(language) ?? "–"}
        />
      </div>
      {report.is_cut && (
        <p className={css.note} data-tone="warn">
          {t("usage.calls.cut")}
        </p>
      )}
      <Section title={t("usage.calls")} lead={t("usage.calls.lead")}>
        <Chart
          label={t("usage.calls")}
          kind="columns"
          keys={days}
          series={fateSeries(days, groups).map(({ fate, values }) => ({
            name: t(`usage.fate.${fate}`),
            values,
          }))}
          show={figure}
        />
      </Section>
      <Section title={t("usage.latency")} lead={t("usage.latency.lead")}>
        <Chart
          label={t("usage.latency")}
          kind="lines"
          keys={days}
          series={[
            { name: t("usage.p50"), values: along(days, groups, (row) => row.p50_ms) },
            { name: t("usage.p95"), values: along(days, groups, (row) => row.p95_ms) },
          ]}
          show={time}
        />
      </Section>
      <Section title={t("usage.prompts")}>
        <Chart
          label={t("usage.prompts")}
          kind="lines"
          keys={days}
          series={[
            {
              name: t("usage.prompts"),
              values: along(days, groups, (row) => row.asked_per_100_calls),
            },
          ]}
          show={figure}
        />
      </Section>
    </>
  );
}

function Cost({ days }: { days: readonly string[] }) {
  const { t, language } = useTexts();
  const since = days[0] ?? "";
  const usage = useQuery({
    queryKey: ["admin", "usage", "day", since],
    queryFn: () =>
      data(api.GET("/api/v1/admin/usage", { params: { query: { by: "day", since } } })),
  });
  // Where no model has a price there is nothing to draw.
  if (usage.data === undefined || usage.data.total.cost === 0) return null;
  return (
    <Section title={t("usage.cost_by_day")}>
      <Chart
        label={t("usage.cost_by_day")}
        kind="columns"
        keys={days}
        series={[
          { name: t("usage.cost"), values: along(days, usage.data.groups, (row) => row.cost) },
        ]}
        show={(value) =>
          value.toLocaleString(language, {
            style: "currency",
            currency: "USD",
            maximumSignificantDigits: 3,
          })
        }
      />
    </Section>
  );
}

function Tools({ report }: { report: Report }) {
  const { t, language } = useTexts();
  const time = useTimes();
  const rows = [...report.groups].sort((one, other) => other.calls - one.calls);
  if (rows.length === 0) return null;
  return (
    <Section title={t("usage.tools")}>
      <Table
        label={t("usage.tools")}
        rows={rows}
        id={(row) => row.key}
        empty={t("usage.calls.empty")}
        columns={[
          { head: t("tools.tool"), cell: (row) => <Foreign mono>{row.key}</Foreign> },
          {
            head: t("usage.calls"),
            end: true,
            cell: (row) => row.calls.toLocaleString(language),
          },
          {
            head: t("usage.fate.failed"),
            end: true,
            cell: (row) => fatesOf(row.statuses).failed.toLocaleString(language),
          },
          {
            head: t("usage.fate.refused"),
            end: true,
            cell: (row) => fatesOf(row.statuses).refused.toLocaleString(language),
          },
          { head: "p50", end: true, cell: (row) => time(row.p50_ms) },
          { head: "p95", end: true, cell: (row) => time(row.p95_ms) },
          {
            head: t("usage.prompts"),
            end: true,
            cell: (row) => row.asked_per_100_calls?.toLocaleString(language) ?? "–",
          },
        ]}
      />
    </Section>
  );
}
