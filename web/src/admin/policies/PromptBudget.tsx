/** The budget of questions: how often people are asked, by agent, and how they answer. */
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Figure, Foreign, Pill } from "../parts/Bits";
import css from "../parts/parts.module.css";
import { type Column, Table } from "../parts/Table";

type Found = Schemas["FatigueView"];
type Times = Schemas["AnswerTimesView"];

export function PromptBudget({ found }: { found: Found }) {
  const { t, language } = useTexts();
  const { share, seconds, rate } = useUnits();
  const columns = useAnswerColumns<Found["agents"][number]>();
  return (
    <>
      <div className={css.figures}>
        <Figure
          name={t("fatigue.target")}
          value={
            <>
              {rate(found.target)}{" "}
              <Pill tone={found.over_target ? "warn" : "ok"}>
                {t(found.over_target ? "fatigue.over" : "fatigue.within")}
              </Pill>
            </>
          }
        />
        <Figure name={t("fatigue.median")} value={seconds(found.times.median_s)} />
        <Figure name={t("fatigue.p90")} value={seconds(found.times.p90_s)} />
        <Figure name={t("fatigue.fast")} value={share(found.times.fast_share)} />
      </div>
      <p className={css.note}>
        {t("fatigue.lead")}{" "}
        <Link className={css.link} to="/admin/proposals">
          {t("fatigue.to_proposals")}
        </Link>
      </p>
      <div className={css.apart}>
        <h2 className={css.sectionTitle}>{t("fatigue.by_agent")}</h2>
      </div>
      <Table
        label={t("fatigue.by_agent")}
        rows={found.agents}
        id={(row) => row.agent_id}
        empty={t("fatigue.empty")}
        columns={[
          {
            head: t("field.agent"),
            wide: true,
            cell: (row) => (
              <>
                <Foreign>{row.agent_id}</Foreign>{" "}
                {row.over_target && <Pill tone="warn">{t("fatigue.over")}</Pill>}
              </>
            ),
          },
          {
            head: t("fatigue.calls"),
            end: true,
            cell: (row) => row.calls.toLocaleString(language),
          },
          {
            head: t("fatigue.asked"),
            end: true,
            cell: (row) => row.prompts.toLocaleString(language),
          },
          ...columns,
        ]}
      />
      <div className={css.apart}>
        <h2 className={css.sectionTitle}>{t("fatigue.by_reason")}</h2>
      </div>
    </>
  );
}

/** How often was asked, and how quickly people answered. */
export function useAnswerColumns<
  Row extends { prompts_per_100_calls: number; times: Times },
>(): Column<Row>[] {
  const { t } = useTexts();
  const { share, seconds, rate } = useUnits();
  return [
    { head: t("fatigue.per_100"), end: true, cell: (row) => rate(row.prompts_per_100_calls) },
    {
      head: t("fatigue.time"),
      cell: (row) => (
        <>
          {seconds(row.times.median_s)}
          {row.times.p90_s !== null && (
            <span className={css.under}>
              {t("fatigue.time.p90", { time: seconds(row.times.p90_s) })}
            </span>
          )}
        </>
      ),
    },
    { head: t("fatigue.fast.short"), end: true, cell: (row) => share(row.times.fast_share) },
  ];
}

function useUnits() {
  const { language } = useTexts();
  const or = (text: (value: number) => string) => (value: number | null) =>
    value === null ? "–" : text(value);
  return {
    rate: (value: number) => value.toLocaleString(language, { maximumFractionDigits: 1 }),
    share: or((value) =>
      value.toLocaleString(language, { style: "percent", maximumFractionDigits: 0 }),
    ),
    seconds: or((value) => {
      const [amount, unit] = value < 120 ? [value, "second"] : [value / 60, "minute"];
      return amount.toLocaleString(language, {
        style: "unit",
        unit: unit as string,
        maximumFractionDigits: amount < 10 ? 1 : 0,
      });
    }),
  };
}
