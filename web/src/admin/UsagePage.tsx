/** What models cost, and how often people are asked. */
import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../api/client";
import { useTexts } from "../i18n";
import { Figure, Foreign, Pill } from "./parts/Bits";
import { Empty, Loaded, Page, Section } from "./parts/Page";
import css from "./parts/parts.module.css";
import { Table } from "./parts/Table";
import chart from "./UsagePage.module.css";

type By = "day" | "agent" | "model" | "session";
type Report = Schemas["UsageReport"];

export default function UsagePage() {
  const { t } = useTexts();
  const [by, setBy] = useState<By>("day");
  const usage = useQuery({
    queryKey: ["admin", "usage", by],
    queryFn: () => data(api.GET("/api/v1/admin/usage", { params: { query: { by } } })),
  });
  return (
    <Page
      title={t("admin.usage")}
      lead={t("usage.lead")}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t("usage.by")}
          value={by}
          onChange={(value) => setBy(value as By)}
          data={(["day", "agent", "model", "session"] as const).map((value) => ({
            value,
            label: t(`usage.by.${value}`),
          }))}
        />
      }
    >
      <Loaded query={usage}>{(report) => <Models report={report} />}</Loaded>
      <Asked />
    </Page>
  );
}

function Models({ report }: { report: Report }) {
  const { t, language } = useTexts();
  const { total } = report;
  const figure = (value: number) => value.toLocaleString(language);
  const money = (value: number) =>
    value.toLocaleString(language, { style: "currency", currency: "USD" });
  return (
    <>
      <div className={css.figures}>
        <Figure name={t("usage.runs")} value={figure(total.runs)} />
        <Figure name={t("usage.input")} value={figure(total.input_tokens)} />
        <Figure name={t("usage.output")} value={figure(total.output_tokens)} />
        <Figure name={t("usage.cost")} value={money(total.cost)} />
      </div>
      {report.is_cut && <p className={css.note}>{t("usage.cut")}</p>}
      <Section title={t("usage.tokens")}>
        {report.groups.length === 0 ? (
          <Empty>{t("usage.empty")}</Empty>
        ) : (
          <Bars
            label={t("usage.tokens")}
            rows={report.groups.map((group) => ({
              key: group.key,
              parts: [group.input_tokens, group.output_tokens],
              text: `${figure(group.input_tokens + group.output_tokens)} · ${money(group.cost)}`,
            }))}
            legend={[t("usage.input"), t("usage.output")]}
          />
        )}
      </Section>
    </>
  );
}

interface Bar {
  key: string;
  parts: readonly number[];
  text: string;
}

interface BarsProps {
  label: string;
  rows: readonly Bar[];
  legend: readonly string[];
}

/** Bars beside their names and figures: the figures are the chart for whoever hears the page. */
function Bars({ label, rows, legend }: BarsProps) {
  const most = Math.max(1, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part, 0)));
  return (
    <figure className={chart.chart}>
      <figcaption className={chart.legend}>
        {legend.map((name, index) => (
          <span key={name}>
            <i data-part={index} aria-hidden />
            {name}
          </span>
        ))}
      </figcaption>
      <ul aria-label={label}>
        {rows.map((row) => (
          <li key={row.key}>
            <span className={`${chart.name} foreign`}>{row.key}</span>
            <span className={chart.track} aria-hidden>
              {row.parts.map((part, index) => (
                <i key={index} data-part={index} style={{ width: `${(part / most) * 100}%` }} />
              ))}
            </span>
            <span className={chart.value}>{row.text}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function Asked() {
  const { t, language } = useTexts();
  const figures = useQuery({
    queryKey: ["admin", "confirmation-figures"],
    queryFn: () => data(api.GET("/api/v1/admin/confirmations/figures", { params: { query: {} } })),
  });
  return (
    <Section title={t("usage.asked")} lead={t("usage.asked.lead")}>
      <Loaded query={figures}>
        {(found) => (
          <>
            <div className={css.figures}>
              <Figure name={t("fatigue.calls")} value={found.calls.toLocaleString(language)} />
              <Figure
                name={t("fatigue.rate")}
                value={
                  found.asked_per_100_calls?.toLocaleString(language, {
                    maximumFractionDigits: 1,
                  }) ?? "–"
                }
              />
            </div>
            <AnswerTable label={t("usage.by_tool")} answers={found.tools} />
            <div style={{ height: 14 }} />
            <AnswerTable label={t("usage.by_reason")} answers={found.reasons} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

interface AnswerProps {
  label: string;
  answers: Readonly<Record<string, Schemas["Answers"]>>;
}

function AnswerTable({ label, answers }: AnswerProps) {
  const { t, language } = useTexts();
  return (
    <Table
      label={label}
      rows={Object.entries(answers).sort(([, a], [, b]) => b.asked - a.asked)}
      id={([name]) => name}
      empty={t("fatigue.empty")}
      columns={[
        { head: label, wide: true, cell: ([name]) => <Foreign mono>{name}</Foreign> },
        { head: t("fatigue.asked"), end: true, cell: ([, one]) => one.asked },
        { head: t("inbox.state.approved"), end: true, cell: ([, one]) => one.approved },
        { head: t("inbox.state.declined"), end: true, cell: ([, one]) => one.declined },
        {
          head: t("fatigue.approved"),
          end: true,
          cell: ([, one]) =>
            one.approve_rate?.toLocaleString(language, {
              style: "percent",
              maximumFractionDigits: 0,
            }) ?? "–",
        },
        {
          head: t("usage.advice"),
          cell: ([, one]) => one.propose_rule && <Pill tone="note">{t("usage.propose")}</Pill>,
        },
      ]}
    />
  );
}
