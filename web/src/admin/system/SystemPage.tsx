/** The service itself: how it is, how tools are confined, which limits count, which projects. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { duration } from "../../chat/Duration";
import { useTexts } from "../../i18n";
import { layerSaid, levelSaid } from "../../i18n/findings";
import { Said } from "../../shell/Said";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Facts, Foreign, Pill } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { Loaded, Page, Section } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { ProjectForm } from "./ProjectForm";

const STATES = {
  ok: "system.ok",
  degraded: "system.degraded",
  failing: "system.failing",
} as const;

export default function SystemPage() {
  const { t } = useTexts();
  return (
    <Page title={t("admin.system")} lead={t("system.lead")}>
      <Health />
      <Limits />
      <Projects />
    </Page>
  );
}

function Health() {
  const { t, language } = useTexts();
  const health = useQuery({
    queryKey: ["admin", "health"],
    refetchInterval: 10_000,
    queryFn: () => data(api.GET("/api/v1/health")),
  });
  const state = (word: string) => (word in STATES ? t(STATES[word as keyof typeof STATES]) : word);
  function confinement({ levels, message }: Schemas["SandboxView"]) {
    return language === "zh" && levels.bash ? levelSaid(language, levels.bash) : message;
  }
  return (
    <Loaded query={health}>
      {(found) => (
        <>
          <Section
            title={t("system.service")}
            actions={<Pill tone={found.status === "ok" ? "ok" : "bad"}>{state(found.status)}</Pill>}
          >
            <Facts
              facts={[
                [t("system.version"), found.version],
                [t("system.uptime"), duration(found.uptime_s * 1000, language)],
                [t("system.database"), state(found.database)],
                [
                  t("system.model"),
                  t(found.model.configured === true ? "common.yes" : "system.model.none"),
                ],
              ]}
            />
          </Section>
          <Section title={t("system.sandbox")} lead={confinement(found.sandbox)}>
            <div className={css.stack}>
              {Object.entries(found.sandbox.missing).map(([name, why]) => (
                <p key={name} className={`${css.note} foreign`} data-tone="warn">
                  {layerSaid(language, name)}: {why}
                </p>
              ))}
              <Table
                label={t("system.sandbox")}
                rows={Object.entries(found.sandbox.levels)}
                id={([name]) => name}
                empty={t("filter.nothing")}
                columns={[
                  {
                    head: t("system.level"),
                    title: true,
                    cell: ([name]) => <Foreign mono>{name}</Foreign>,
                  },
                  {
                    head: t("tools.state"),
                    wide: true,
                    cell: ([, level]) => (
                      <>
                        <Pill tone={!level.available ? "bad" : level.asks ? "warn" : "ok"}>
                          {t(
                            !level.available
                              ? "system.level.no"
                              : level.asks
                                ? "tools.state.asks"
                                : "system.level.yes",
                          )}
                        </Pill>
                        <span className={css.under}>
                          <Foreign>{levelSaid(language, level)}</Foreign>
                        </span>
                      </>
                    ),
                  },
                  {
                    head: t("system.layers"),
                    wide: true,
                    cell: ([, level]) => <Chips values={level.layers} />,
                  },
                ]}
              />
            </div>
          </Section>
        </>
      )}
    </Loaded>
  );
}

function Limits() {
  const { t } = useTexts();
  const limits = useQuery({
    queryKey: ["admin", "limits"],
    refetchInterval: 10_000,
    queryFn: () => data(api.GET("/api/v1/admin/limits")),
  });
  return (
    <Section title={t("system.limits")} lead={t("system.limits.lead")}>
      <Loaded query={limits}>
        {(found) => {
          const rows = [
            ...Object.entries(found.defaults).map(
              ([name, value]) => [t("filter.all"), name, value] as const,
            ),
            ...Object.entries(found.tools).flatMap(([tool, own]) =>
              Object.entries(own).map(([name, value]) => [tool, name, value] as const),
            ),
            ...Object.entries(found.agents).flatMap(([agent, own]) =>
              Object.entries(own).map(([name, value]) => [agent, name, value] as const),
            ),
          ];
          return (
            <div className={css.stack}>
              {found.problems.map((problem, at) => (
                <p key={problem} className={css.note} data-tone="bad">
                  <Said code={found.problem_codes[at] ?? ""} message={problem} />
                </p>
              ))}
              <Table
                label={t("system.limits")}
                rows={rows}
                id={([who, name]) => `${who}:${name}`}
                empty={t("system.no_limits")}
                columns={[
                  { head: t("system.limit.for"), cell: ([who]) => <Foreign>{who}</Foreign> },
                  {
                    head: t("system.limit"),
                    wide: true,
                    cell: ([, name]) => <Foreign mono>{name}</Foreign>,
                  },
                  { head: t("system.limit.value"), end: true, cell: ([, , value]) => value },
                  {
                    head: t("system.limit.hits"),
                    end: true,
                    cell: ([, name]) => found.hits[name] ?? 0,
                  },
                ]}
              />
            </div>
          );
        }}
      </Loaded>
    </Section>
  );
}

function Projects() {
  const { t } = useTexts();
  const projects = useQuery({
    queryKey: ["admin", "projects"],
    queryFn: () => data(api.GET("/api/v1/admin/projects", { params: { query: { limit: 100 } } })),
  });
  return (
    <Section
      title={t("system.projects")}
      lead={t("system.projects.lead")}
      actions={
        <EditDialog label={t("system.project.new")} isNew>
          {(ends) => <ProjectForm project={null} ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={projects}>
        {(found) => (
          <Table
            label={t("system.projects")}
            rows={found.projects}
            id={(project) => project.id}
            empty={t("filter.nothing")}
            columns={[
              {
                head: t("field.name"),
                title: true,
                cell: (project) => <Foreign>{project.name}</Foreign>,
              },
              {
                head: t("system.folder"),
                wide: true,
                cell: (project) => <Foreign mono>{project.root}</Foreign>,
              },
              {
                head: t("system.reach"),
                cell: (project) => (
                  <Pill tone={project.restrict_to_workspace ? "ok" : "warn"}>
                    {t(project.restrict_to_workspace ? "system.reach.folder" : "system.reach.all")}
                  </Pill>
                ),
              },
              {
                head: t("system.ports"),
                cell: (project) => <Chips values={project.tcp_ports.map(String)} />,
              },
              {
                head: t("system.hosts"),
                cell: (project) => <Chips values={project.allowed_hosts} />,
              },
              {
                head: t("system.from"),
                cell: (project) =>
                  t(project.stored ? "system.from.stored" : "system.from.settings"),
              },
              {
                head: t("field.actions"),
                cell: (project) => (
                  <div className={css.actions}>
                    <EditDialog label={t("common.edit")} about={project.name}>
                      {(ends) => <ProjectForm project={project} ends={ends} />}
                    </EditDialog>
                    {project.stored && (
                      <AskFirst
                        label={t("common.delete")}
                        about={project.name}
                        what={t("system.project.delete.what", { name: project.name })}
                        act={() =>
                          data(
                            api.DELETE("/api/v1/admin/projects/{project_id}", {
                              params: {
                                path: { project_id: project.id },
                                header: ifMatch(project.version),
                              },
                            }),
                          )
                        }
                        onDone={() => void projects.refetch()}
                      />
                    )}
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  );
}
