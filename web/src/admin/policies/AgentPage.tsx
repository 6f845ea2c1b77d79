/** One agent: its profile to edit, its tools, and what follows from it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { AskFirst } from "../parts/AskFirst";
import { Facts } from "../parts/Bits";
import { useEditing } from "../parts/editing";
import { Loaded, Page, Section } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { AgentForm } from "./AgentForm";
import { AgentTools } from "./AgentTools";

export function AgentPage() {
  const { t } = useTexts();
  const id = useParams().id ?? "";
  const go = useNavigate();
  const queries = useQueryClient();
  const { query, round, reload, take } = useEditing(["agent", id], () =>
    data(api.GET("/api/v1/admin/agents/{agent_id}", { params: { path: { agent_id: id } } })),
  );
  const found = query.data;
  return (
    <Page
      back={{ to: "/admin/agents", label: t("admin.agents") }}
      title={found?.profile.title || id}
      lead={<span className="mono">{id}</span>}
      actions={
        found !== undefined && (
          <AskFirst
            label={t("common.delete")}
            size="sm"
            what={t("agents.delete.what")}
            act={() =>
              data(
                api.DELETE("/api/v1/admin/agents/{agent_id}", {
                  params: { path: { agent_id: id }, header: ifMatch(found.version) },
                }),
              )
            }
            onDone={() => {
              void go("/admin/agents");
              void queries.invalidateQueries({ queryKey: ["admin", "agents"] });
            }}
          />
        )
      }
    >
      <Loaded query={query}>
        {(view) => (
          <>
            <AgentForm key={`form-${round}`} agent={view} reload={reload} take={take} />
            <AgentTools agent={view} take={take} />
          </>
        )}
      </Loaded>
      <Follows id={id} />
    </Page>
  );
}

/** What a model would be told and shown. */
function Follows({ id }: { id: string }) {
  const { t, language } = useTexts();
  const resolved = useQuery({
    queryKey: ["admin", "resolve", id],
    queryFn: () => data(api.GET("/api/v1/admin/toolset", { params: { query: { agent_id: id } } })),
  });
  return (
    <Section title={t("agents.follows")} lead={t("agents.follows.lead")}>
      <Loaded query={resolved}>
        {(found) => (
          <div className={css.stack}>
            <Facts
              facts={[
                [t("agents.tools_on"), found.runtime_diagnostic.enabled],
                [t("agents.tools_off"), found.runtime_diagnostic.disabled],
                [t("agents.visible"), found.visible.length],
                [t("agents.deferred"), found.deferred.length],
                [t("agents.tokens"), found.tokens.total.toLocaleString(language)],
              ]}
            />
            <details>
              <summary>{t("agents.whole_prompt")}</summary>
              <pre className={`${css.block} foreign`} tabIndex={0}>
                {found.system_prompt}
              </pre>
            </details>
          </div>
        )}
      </Loaded>
    </Section>
  );
}
