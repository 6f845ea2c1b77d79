/** Plugins and hooks: what is loaded, what it did, and what could not be loaded. */
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { type Translate, useTexts } from "../../i18n";
import { Said } from "../../shell/Said";
import { Foreign, Pill } from "../parts/Bits";
import { Loaded, Page, Section, word } from "../parts/Page";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

const P99 = { style: "unit", unit: "millisecond", maximumFractionDigits: 1 } as const;

export default function PluginsPage() {
  const { t, language } = useTexts();
  const hooks = useQuery({
    queryKey: ["admin", "hooks"],
    queryFn: () => data(api.GET("/api/v1/admin/hooks")),
  });
  const catalog = useQuery({
    queryKey: ["admin", "catalog-problems"],
    queryFn: () => data(api.GET("/api/v1/tools", { params: { query: { format: "native" } } })),
  });
  return (
    <Page title={t("admin.plugins")} lead={t("plugins.lead")}>
      <Section title={t("plugins.problems")} lead={t("plugins.problems.lead")}>
        <Loaded query={catalog}>
          {({ problems }) => (
            <Table
              label={t("plugins.problems")}
              rows={problems}
              id={(problem) => JSON.stringify(problem)}
              empty={t("plugins.no_problems")}
              columns={[
                {
                  head: t("plugins.where"),
                  cell: (problem) => (
                    <Foreign mono>{problem.at || problem.where || problem.name || "–"}</Foreign>
                  ),
                },
                {
                  head: t("plugins.what"),
                  wide: true,
                  cell: (problem) => (
                    <>
                      <Said
                        code={problem.code ?? ""}
                        message={problem.error ?? JSON.stringify(problem)}
                      />
                      {problem.fix && (
                        <span className={css.under}>
                          <Foreign>{problem.fix}</Foreign>
                        </span>
                      )}
                    </>
                  ),
                },
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title={t("plugins.hooks")} lead={t("plugins.hooks.lead")}>
        <Loaded query={hooks}>
          {(found) => (
            <div className={css.stack}>
              {found.missing.map((missing) => (
                <p key={missing.name} className={css.note} data-tone="bad">
                  <Foreign>{`${missing.name} (${missing.where}): `}</Foreign>
                  <Said code={missing.code} message={missing.error} />
                  {missing.is_shut && ` ${t("plugins.shut")}`}
                </p>
              ))}
              <Table
                label={t("plugins.hooks")}
                rows={found.hooks}
                id={(hook) => `${hook.event}:${hook.name}`}
                empty={t("filter.nothing")}
                columns={[
                  {
                    head: t("plugins.hook"),
                    wide: true,
                    cell: (hook) => (
                      <>
                        <Foreign mono>{hook.name}</Foreign>
                        <span className={css.under}>
                          <Foreign>{`${word(t, "plugins.event", hook.event)} · ${originSaid(t, hook.origin)}`}</Foreign>
                        </span>
                        {hook.last_error !== null && (
                          <span className={css.under}>
                            <Said code={hook.last_error_code ?? ""} message={hook.last_error} />
                          </span>
                        )}
                      </>
                    ),
                  },
                  {
                    head: t("tools.state"),
                    cell: (hook) => (
                      <Pill tone={!hook.is_active ? "quiet" : hook.failures > 0 ? "bad" : "ok"}>
                        {t(hook.is_active ? "rules.state.active" : "rules.state.disabled")}
                      </Pill>
                    ),
                  },
                  { head: t("plugins.tools"), end: true, cell: (hook) => hook.tools.length },
                  { head: t("fatigue.calls"), end: true, cell: (hook) => hook.calls },
                  { head: t("plugins.asks"), end: true, cell: (hook) => hook.asks },
                  { head: t("plugins.denies"), end: true, cell: (hook) => hook.denies },
                  { head: t("plugins.failures"), end: true, cell: (hook) => hook.failures },
                  {
                    head: t("plugins.slow"),
                    end: true,
                    cell: (hook) =>
                      hook.p99_ms === null ? "–" : hook.p99_ms.toLocaleString(language, P99),
                  },
                ]}
              />
            </div>
          )}
        </Loaded>
      </Section>
    </Page>
  );
}

/** Where a hook comes from: one of a few words, what a tool brings, or a plugin by its name. */
function originSaid(t: Translate, origin: string): string {
  const [, kind, name] = /^(tool|missing plugin) (.+)$/s.exec(origin) ?? [];
  if (name === undefined) return word(t, "plugins.origin", origin);
  return t(kind === "tool" ? "plugins.origin.tool" : "plugins.origin.missing", { name });
}
