/** Grants: approvals that outlived the call they were given for. */

import { NativeSelect } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { coverage } from "../../i18n/coverage";
import { visible } from "../../shared/visible";
import { Lines } from "../../shell/Said";
import { AskFirst } from "../parts/AskFirst";
import { Foreign, Pill, When } from "../parts/Bits";
import { Loaded, More, Page } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

type Grant = Schemas["GrantView"];

export default function GrantsPage() {
  const { t, language } = useTexts();
  const queries = useQueryClient();
  const [scope, setScope] = useState("");
  const grants = usePages<Grant>(["grants", scope], async (before) => {
    const query = {
      limit: 50,
      ...(scope === "" ? {} : { scope: scope as Grant["scope"] }),
      ...(before === undefined ? {} : { before: String(before) }),
    };
    const page = await data(api.GET("/api/v1/admin/grants", { params: { query } }));
    return { rows: page.grants, next: page.next_before };
  });
  return (
    <Page title={t("admin.grants")} lead={t("grants.lead")}>
      <div className={css.bar}>
        <NativeSelect
          label={t("grants.scope")}
          value={scope}
          onChange={(event) => setScope(event.currentTarget.value)}
          data={[
            { value: "", label: t("filter.all") },
            ...(["run", "session", "agent", "always"] as const).map((value) => ({
              value,
              label: t(`grants.scope.${value}`),
            })),
          ]}
        />
      </div>
      <Loaded query={grants}>
        {(rows) => (
          <Table
            label={t("admin.grants")}
            rows={rows}
            id={(grant) => grant.id}
            empty={t("grants.empty")}
            columns={[
              {
                head: t("grants.covers"),
                wide: true,
                cell: (grant) => (
                  <>
                    <span className="mono">{grant.tool_name}</span>
                    <span className={css.under}>
                      <Lines {...coverage(language, grant.pattern.kind, visible(grant.covers))} />
                    </span>
                  </>
                ),
              },
              {
                head: t("grants.scope"),
                cell: (grant) => (
                  <>
                    {t(`grants.scope.${grant.scope}`)}
                    {grant.scope_id != null && (
                      <span className={css.under}>
                        <Foreign mono>{grant.scope_id}</Foreign>
                      </span>
                    )}
                  </>
                ),
              },
              {
                head: t("tools.state"),
                cell: (grant) => (
                  <Pill tone={grant.active ? "ok" : "quiet"}>
                    {t(
                      grant.active
                        ? "grants.active"
                        : grant.revoked_at != null
                          ? "grants.revoked"
                          : "grants.ended",
                    )}
                  </Pill>
                ),
              },
              { head: t("grants.hits"), end: true, cell: (grant) => <Uses grant={grant} /> },
              { head: t("grants.by"), cell: (grant) => <Foreign>{grant.created_by}</Foreign> },
              { head: t("field.until"), cell: (grant) => <When at={grant.expires_at} /> },
              {
                head: t("field.actions"),
                cell: (grant) =>
                  grant.active && (
                    <AskFirst
                      label={t("grants.revoke")}
                      about={grant.covers}
                      what={t("grants.revoke.what", { covers: grant.covers })}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/grants/{grant_id}", {
                            params: { path: { grant_id: grant.id } },
                          }),
                        )
                      }
                      onDone={() =>
                        void queries.invalidateQueries({ queryKey: ["admin", "grants"] })
                      }
                    />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={grants} />
    </Page>
  );
}

/** How often it was used, and how often it still can be. */
function Uses({ grant }: { grant: Grant }) {
  const { t } = useTexts();
  const { hits, max_uses: most } = grant;
  if (most == null) return hits;
  return (
    <>
      {t("grants.hits.of", { hits, most })}
      {grant.active && (
        <span className={css.under}>{t("grants.left", { count: Math.max(0, most - hits) })}</span>
      )}
    </>
  );
}
