/** Skills: what is found, what agents may follow, and what is wrong with the rest. */
import { useQuery } from "@tanstack/react-query";
import { Link, Route, useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Said } from "../../shell/Said";
import { Sections } from "../../shell/Sections";
import { Chips, Facts, Foreign, Pill, type PillTone } from "../parts/Bits";
import { OnOff } from "../parts/OnOff";
import { Loaded, More, Page, Section } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";

type Skill = Schemas["AdminSkill"];

const tone = (status: Skill["status"]): PillTone =>
  status === "visible"
    ? "ok"
    : status === "invalid" || status === "missing_requirement"
      ? "bad"
      : "quiet";

export default function SkillsPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path=":id" element={<Detail />} />
    </Sections>
  );
}

interface Wrong {
  code: string;
  message: string;
}

/** What keeps a skill from being used, what it lacks, and what is odd about it. */
function wrongs(skill: Skill): Wrong[] {
  const told = (messages: string[], codes: string[]) =>
    messages.map((message, at) => ({ code: codes[at] ?? "", message }));
  return [
    ...told(skill.problems, skill.problem_codes),
    ...skill.missing.map((message) => ({ code: "skill_requirement", message })),
    ...told(skill.warnings, skill.warning_codes),
  ];
}

function TrustSwitch({ skill }: { skill: Skill }) {
  const { t } = useTexts();
  return (
    <OnOff
      label={t("skills.switch", { name: skill.name })}
      on={skill.enabled ?? skill.is_trusted}
      change={(enabled) =>
        data(
          api.PATCH("/api/v1/admin/skills/{skill_id}", {
            params: { path: { skill_id: skill.id }, header: ifMatch(skill.version) },
            body: { enabled, ...(skill.digest === null ? {} : { digest: skill.digest }) },
          }),
        )
      }
    />
  );
}

function List() {
  const { t } = useTexts();
  const skills = usePages<Skill>(["skills"], async (after) => {
    const query = { limit: 100, ...(after === undefined ? {} : { after: Number(after) }) };
    const page = await data(api.GET("/api/v1/admin/skills", { params: { query } }));
    return { rows: page.skills, next: page.next_after };
  });
  return (
    <Page title={t("admin.skills")} lead={t("skills.lead")}>
      <Loaded query={skills}>
        {(rows) => (
          <Table
            label={t("admin.skills")}
            rows={rows}
            id={(skill) => skill.id}
            empty={t("skills.empty")}
            columns={[
              { head: t("tools.on"), cell: (skill) => <TrustSwitch skill={skill} /> },
              {
                head: t("skills.skill"),
                wide: true,
                cell: (skill) => (
                  <>
                    <Link className={css.link} to={`/admin/skills/${encodeURIComponent(skill.id)}`}>
                      <Foreign>{skill.name}</Foreign>
                    </Link>
                    <span className={css.under}>
                      <Foreign>{skill.description}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("tools.state"),
                cell: (skill) => (
                  <>
                    <Pill tone={tone(skill.status)}>{t(`skills.status.${skill.status}`)}</Pill>
                    {skill.reason !== null && (
                      <span className={css.under}>
                        <Said code={skill.reason_code ?? ""} message={skill.reason} />
                      </span>
                    )}
                  </>
                ),
              },
              { head: t("skills.origin"), cell: (skill) => t(`skills.origin.${skill.origin}`) },
              {
                head: t("skills.runs"),
                cell: (skill) => t(skill.is_compute ? "common.yes" : "common.no"),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={skills} />
    </Page>
  );
}

function Detail() {
  const { t } = useTexts();
  const id = useParams().id ?? "";
  const skill = useQuery({
    queryKey: ["admin", "skill", id],
    queryFn: () =>
      data(api.GET("/api/v1/admin/skills/{skill_id}", { params: { path: { skill_id: id } } })),
  });
  return (
    <Page
      back={{ to: "/admin/skills", label: t("admin.skills") }}
      title={skill.data?.name ?? id}
      lead={skill.data?.description}
      actions={skill.data !== undefined && <TrustSwitch skill={skill.data} />}
    >
      <Loaded query={skill}>
        {(found) => (
          <>
            <Section title={t("tools.holds")}>
              <div className={css.stack}>
                {wrongs(found).map(({ code, message }) => (
                  <p key={message} className={css.note} data-tone="warn">
                    <Said code={code} message={message} />
                  </p>
                ))}
                <Facts
                  facts={[
                    [t("tools.state"), t(`skills.status.${found.status}`)],
                    [t("skills.origin"), t(`skills.origin.${found.origin}`)],
                    [
                      t("skills.folder"),
                      <Foreign key="folder" mono>
                        {found.folder}
                      </Foreign>,
                    ],
                    [t("skills.license"), found.license ?? "–"],
                    [t("skills.compatibility"), found.compatibility ?? "–"],
                    [t("skills.tools"), <Chips key="tools" values={found.allowed_tools} />],
                    [
                      t("skills.files"),
                      <Chips key="files" values={found.files.map((file) => file.path)} />,
                    ],
                  ]}
                />
              </div>
            </Section>
            <Section title={t("skills.body")}>
              <pre className={`${css.block} foreign`} tabIndex={0}>
                {found.body}
              </pre>
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
