/** What the service needs, whether it is there, and how to get it. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { finding } from "../../i18n/findings";
import { Figure, Foreign, Pill, type PillTone } from "../parts/Bits";
import { Loaded, Page } from "../parts/Page";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

const TONES = { broken: "bad", warning: "warn", info: "quiet", ok: "ok" } as const satisfies Record<
  string,
  PillTone
>;
const STATES = ["broken", "warning", "info", "ok"] as const;

export default function DoctorPage() {
  const { t, language } = useTexts();
  const doctor = useQuery({
    queryKey: ["admin", "doctor"],
    queryFn: () => data(api.GET("/api/v1/admin/doctor")),
  });
  return (
    <Page
      title={t("admin.doctor")}
      lead={t("doctor.lead")}
      actions={
        <Button loading={doctor.isFetching} onClick={() => void doctor.refetch()}>
          {t("doctor.again")}
        </Button>
      }
    >
      <Loaded query={doctor}>
        {(found) => (
          <div className={css.stack}>
            <p className={css.note} data-tone={found.ok ? "ok" : "bad"}>
              {t(found.ok ? "doctor.fine" : "doctor.ill")}
            </p>
            {!found.is_complete && (
              <p className={css.note} data-tone="warn">
                {t("doctor.cut")}
              </p>
            )}
            <div className={css.figures}>
              {STATES.map((state) => (
                <Figure
                  key={state}
                  name={t(`doctor.state.${state}`)}
                  value={found.counts[state] ?? 0}
                />
              ))}
            </div>
            <Table
              label={t("admin.doctor")}
              rows={STATES.flatMap((state) =>
                found.checks.filter((one) => one.state === state),
              ).map((check) => ({ state: check.state, ...finding(language, check) }))}
              id={(check) => `${check.name}:${check.found}`}
              empty={t("filter.nothing")}
              columns={[
                {
                  head: t("doctor.check"),
                  wide: true,
                  cell: (check) => (
                    <>
                      <Foreign>{check.name}</Foreign>
                      <span className={css.under}>
                        <Foreign>{check.meaning}</Foreign>
                      </span>
                    </>
                  ),
                },
                {
                  head: t("doctor.found"),
                  wide: true,
                  cell: (check) => (
                    <>
                      <Pill tone={TONES[check.state]}>{t(`doctor.state.${check.state}`)}</Pill>
                      <span className={css.under}>
                        <Foreign>{check.found}</Foreign>
                      </span>
                    </>
                  ),
                },
                {
                  head: t("doctor.fix"),
                  wide: true,
                  cell: (check) => check.fix !== "" && <Foreign>{check.fix}</Foreign>,
                },
              ]}
            />
          </div>
        )}
      </Loaded>
    </Page>
  );
}
