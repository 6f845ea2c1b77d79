/** The audit: who did what, when, under which verdict; and whether the chain still holds. */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { ROOT } from "../../api/root";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { auditWord, KINDS, OUTCOMES } from "../../i18n/auditWords";
import { JsonTree } from "../../renderers/JsonTree";
import { ErrorView } from "../../shell/ErrorView";
import { Said } from "../../shell/Said";
import { Foreign, Id, Pill, type PillTone, When } from "../parts/Bits";
import { Filters, useFilters } from "../parts/Filters";
import { Loaded, More, Page, word } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

type Row = Schemas["AuditView"];

const FILTERS = [
  "kind",
  "actor",
  "tool_name",
  "agent_id",
  "session_id",
  "verdict",
  "outcome",
] as const;

const TONES: Readonly<Record<string, PillTone>> = {
  allow: "ok",
  ask: "warn",
  deny: "bad",
};

export default function AuditPage() {
  const { t, language } = useTexts();
  const { typed, wanted, type } = useFilters<(typeof FILTERS)[number]>();
  const rows = usePages<Row>(["audit", wanted], async (before) => {
    const query = {
      limit: 50,
      ...wanted,
      ...(before === undefined ? {} : { before: Number(before) }),
    };
    const page = await data(api.GET("/api/v1/admin/audit", { params: { query } }));
    return { rows: page.rows, next: page.next_before };
  });
  const exported = `${ROOT}/api/v1/admin/audit/export?${new URLSearchParams(wanted).toString()}`;
  return (
    <Page
      title={t("admin.audit")}
      lead={t("audit.lead")}
      actions={
        <>
          <Button component="a" href={exported} download variant="default">
            {t("audit.export")}
          </Button>
          <ChainCheck />
        </>
      }
    >
      <Filters names={FILTERS} label={(name) => t(`audit.${name}`)} typed={typed} onType={type} />
      <Loaded query={rows}>
        {(found) => (
          <Table
            label={t("admin.audit")}
            rows={found}
            id={(row) => String(row.seq)}
            empty={t("filter.nothing")}
            columns={[
              { head: "#", end: true, cell: (row) => row.seq },
              { head: t("field.when"), cell: (row) => <When at={row.ts} /> },
              {
                head: t("audit.kind"),
                wide: true,
                cell: (row) => <What row={row} />,
              },
              { head: t("audit.actor"), cell: (row) => <Foreign>{row.actor}</Foreign> },
              {
                head: t("audit.verdict"),
                cell: (row) => (
                  <span className={css.chips}>
                    {row.verdict != null && (
                      <Pill tone={TONES[row.verdict] ?? "quiet"}>
                        {word(t, "verdict", row.verdict)}
                      </Pill>
                    )}
                    {row.outcome != null && (
                      <Pill tone={row.outcome === "success" ? "ok" : "quiet"}>
                        {auditWord(OUTCOMES, language, row.outcome) ?? word(t, "call", row.outcome)}
                      </Pill>
                    )}
                  </span>
                ),
              },
              { head: t("audit.session_id"), cell: (row) => <Id value={row.session_id} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={rows} />
    </Page>
  );
}

function What({ row }: { row: Row }) {
  const { t, language } = useTexts();
  const kind = auditWord(KINDS, language, row.kind);
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className={css.rowButton}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {kind ?? <Foreign mono>{row.kind}</Foreign>}{" "}
        <Foreign mono>{row.tool_name ?? row.subject ?? ""}</Foreign>
      </button>
      {kind !== null && (
        <span className={css.under}>
          <Foreign mono>{row.kind}</Foreign>
        </span>
      )}
      {open && (
        <div className={css.stack} style={{ marginTop: 8 }}>
          <JsonTree value={row.detail} />
          <span className={css.under}>
            {t("audit.hash")} <Id value={row.hash} />
          </span>
        </div>
      )}
    </>
  );
}

/** Reads every row once and tells whether anything was changed or left out. */
function ChainCheck() {
  const { t, language } = useTexts();
  const check = useMutation({ mutationFn: () => data(api.POST("/api/v1/admin/audit/verify")) });
  const found = check.data;
  return (
    <>
      <Button
        leftSection={<ShieldCheck size={15} aria-hidden />}
        loading={check.isPending}
        onClick={() => check.mutate()}
      >
        {t("audit.check")}
      </Button>
      <div role="status" style={{ flexBasis: "100%" }}>
        {check.error !== null && <ErrorView error={asApiError(check.error)} compact />}
        {found !== undefined && (
          <p className={css.note} data-tone={found.ok ? "ok" : "bad"}>
            {found.broken == null ? (
              t("audit.whole", {
                count: found.rows.toLocaleString(language),
                anchors: found.anchors,
              })
            ) : (
              <>
                {t("audit.broken", { seq: found.broken.seq })}{" "}
                <Said code={found.broken.code} message={found.broken.why} />
              </>
            )}
          </p>
        )}
      </div>
    </>
  );
}
