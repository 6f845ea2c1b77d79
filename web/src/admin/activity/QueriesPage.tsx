/** What agents asked databases, allowed or refused. */
import { Select } from "@mantine/core";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Said } from "../../shell/Said";
import { Foreign, Id, Pill, When } from "../parts/Bits";
import { Filters, useFilters } from "../parts/Filters";
import { Loaded, More, Page } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

type Row = Schemas["QueryView"];
type Verdict = Row["verdict"];

const NAMES = ["source_id", "agent_id", "user_id", "session_id"] as const;
const VERDICTS: readonly Verdict[] = ["allowed", "refused"];

export default function QueriesPage() {
  const { t, language } = useTexts();
  const { typed, wanted, type } = useFilters<(typeof NAMES)[number]>();
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const asked = verdict === null ? wanted : { ...wanted, verdict };
  const rows = usePages<Row>(["queries", asked], async (before) => {
    const query = {
      limit: 50,
      ...asked,
      ...(before === undefined ? {} : { before: Number(before) }),
    };
    const page = await data(api.GET("/api/v1/admin/audit/queries", { params: { query } }));
    return { rows: page.rows, next: page.next_before };
  });
  return (
    <Page title={t("admin.queries")} lead={t("queries.lead")}>
      <Filters names={NAMES} label={(name) => t(`queries.${name}`)} typed={typed} onType={type}>
        <Select
          size="xs"
          label={t("audit.verdict")}
          placeholder={t("filter.all")}
          clearable
          value={verdict}
          data={VERDICTS.map((value) => ({ value, label: t(`queries.${value}`) }))}
          onChange={(value) => setVerdict(value as Verdict | null)}
        />
      </Filters>
      <Loaded query={rows}>
        {(found) => (
          <Table
            label={t("admin.queries")}
            rows={found}
            id={(row) => String(row.seq)}
            empty={t("filter.nothing")}
            columns={[
              { head: t("field.when"), cell: (row) => <When at={row.ts} /> },
              { head: t("queries.sql"), wide: true, cell: (row) => <Query row={row} /> },
              {
                head: t("audit.verdict"),
                cell: (row) => (
                  <Pill tone={row.verdict === "allowed" ? "ok" : "bad"}>
                    {t(`queries.${row.verdict}`)}
                  </Pill>
                ),
              },
              {
                head: t("queries.rows"),
                end: true,
                cell: (row) => row.rows.toLocaleString(language),
              },
              {
                head: t("queries.ms"),
                end: true,
                cell: (row) => Math.round(row.ms).toLocaleString(language),
              },
              {
                head: t("field.agent"),
                cell: (row) => <Foreign>{row.agent_id ?? "–"}</Foreign>,
              },
              { head: t("field.session"), cell: (row) => <Id value={row.session_id} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={rows} />
    </Page>
  );
}

function Query({ row }: { row: Row }) {
  return (
    <>
      <Foreign mono>{row.sql}</Foreign>
      <div className={css.under}>
        <Foreign>{[row.tool_name, row.source_id, ...row.tables].join(" · ")}</Foreign>
        {row.reason !== null && (
          <div>
            <Refused reason={row.reason} />
          </div>
        )}
      </div>
    </>
  );
}

/** Why there are no rows: a code, and behind it mostly a sentence. */
function Refused({ reason }: { reason: string }) {
  const [, code = "", sentence = ""] = /^([a-z_]+)(?:: (.*))?$/s.exec(reason) ?? [];
  return <Said code={code} message={sentence || reason} />;
}
