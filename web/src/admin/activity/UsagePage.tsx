/** What models cost, and how often people are asked. */
import { NativeSelect, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Coded } from "../../shell/Said";
import { Figure, Foreign, Pill } from "../parts/Bits";
import { Empty, Loaded, Page, Section } from "../parts/Page";
import css from "../parts/parts.module.css";
import { daysUntil } from "../parts/scale";
import { Table } from "../parts/Table";
import { CallCharts } from "./CallCharts";
import chart from "./UsagePage.module.css";

type By = "day" | "agent" | "model" | "session";
type Report = Schemas["UsageReport"];

export default function UsagePage() {
  const { t } = useTexts();
  const [by, setBy] = useState<By>("agent");
  const [span, setSpan] = useState("14");
  const days = daysUntil(new Date(), Number(span));
  const since = days[0] ?? "";
  const usage = useQuery({
    queryKey: ["admin", "usage", by, since],
    queryFn: () => data(api.GET("/api/v1/admin/usage", { params: { query: { by, since } } })),
  });
  return (
    <Page
      title={t("admin.usage")}
      lead={t("usage.lead")}
      actions={
        <NativeSelect
          aria-label={t("usage.span")}
          value={span}
          onChange={(event) => setSpan(event.currentTarget.value)}
          data={["7", "14", "30", "90"].map((value) => ({
            value,
            label: t("usage.days", { count: value }),
          }))}
        />
      }
    >
      <CallCharts days={days} />
      <Section
        title={t("usage.models")}
        lead={t("usage.models.lead")}
        actions={
          <SegmentedControl
            size="xs"
            aria-label={t("usage.by")}
            value={by}
            onChange={(value) => setBy(value as By)}
            data={(["agent", "model", "session", "day"] as const).map((value) => ({
              value,
              label: t(`usage.by.${value}`),
            }))}
          />
        }
      >
        <Loaded query={usage}>{(report) => <Models report={report} />}</Loaded>
      </Section>
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
            <div className={css.stack}>
              <AnswerTable label={t("usage.by_tool")} answers={found.tools} said={toolSaid} />
              <AnswerTable label={t("usage.by_reason")} answers={found.reasons} said={reasonSaid} />
            </div>
          </>
        )}
      </Loaded>
    </Section>
  );
}

/** A share as a bar beside its figure. */
function Rate({ share }: { share: number | null }) {
  const { language } = useTexts();
  if (share === null) return <span className={css.quiet}>–</span>;
  return (
    <span className={chart.rate}>
      <svg width="64" height="8" aria-hidden>
        <rect className={chart.rateAll} width="64" height="8" rx="4" />
        <rect className={chart.rateShare} width={64 * share} height="8" rx="4" />
      </svg>
      {share.toLocaleString(language, { style: "percent", maximumFractionDigits: 0 })}
    </span>
  );
}

const toolSaid = (name: string) => <Foreign mono>{name}</Foreign>;
const reasonSaid = (code: string) => <Coded code={code} />;

interface AnswerProps {
  label: string;
  said: (name: string) => ReactNode;
  answers: Readonly<Record<string, Schemas["Answers"]>>;
}

function AnswerTable({ label, said, answers }: AnswerProps) {
  const { t } = useTexts();
  return (
    <Table
      label={label}
      rows={Object.entries(answers).sort(([, a], [, b]) => b.asked - a.asked)}
      id={([name]) => name}
      empty={t("fatigue.empty")}
      columns={[
        { head: label, wide: true, cell: ([name]) => said(name) },
        { head: t("fatigue.asked"), end: true, cell: ([, one]) => one.asked },
        { head: t("inbox.state.approved"), end: true, cell: ([, one]) => one.approved },
        { head: t("inbox.state.declined"), end: true, cell: ([, one]) => one.declined },
        {
          head: t("fatigue.approved"),
          cell: ([, one]) => <Rate share={one.approve_rate} />,
        },
        {
          head: t("usage.advice"),
          cell: ([, one]) => one.propose_rule && <Pill tone="note">{t("usage.propose")}</Pill>,
        },
      ]}
    />
  );
}
