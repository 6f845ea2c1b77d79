/** Agents: their profiles, what they may use, and what their sub-agents may. */
import { Button, Modal, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Link, Route, useNavigate } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import { Sections } from "../../shell/Sections";
import { Chips, Foreign, Pill, When } from "../parts/Bits";
import { Loaded, More, Page } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { AgentPage } from "./AgentPage";

type Agent = Schemas["AgentView"];

export default function AgentsPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path=":id" element={<AgentPage />} />
    </Sections>
  );
}

function List() {
  const { t } = useTexts();
  const agents = usePages<Agent>(["agents"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/agents", { params: { query } }));
    return { rows: page.agents, next: page.next_after };
  });
  return (
    <Page title={t("admin.agents")} lead={t("agents.lead")} actions={<NewAgent />}>
      <Loaded query={agents}>
        {(rows) => (
          <Table
            label={t("admin.agents")}
            rows={rows}
            id={(agent) => agent.profile.id}
            empty={t("agents.empty")}
            columns={[
              {
                head: t("field.agent"),
                wide: true,
                cell: ({ profile }) => (
                  <>
                    <Link
                      className={css.link}
                      to={`/admin/agents/${encodeURIComponent(profile.id)}`}
                    >
                      <Foreign>{profile.title || profile.id}</Foreign>
                    </Link>
                    <span className={`${css.under} mono`}>{profile.id}</span>
                  </>
                ),
              },
              {
                head: t("agents.model"),
                cell: ({ profile }) => <Foreign mono>{profile.model ?? "–"}</Foreign>,
              },
              {
                head: t("agents.selection"),
                cell: ({ profile }) =>
                  profile.selection == null ? (
                    t("agents.everything")
                  ) : (
                    <Chips values={profile.selection} />
                  ),
              },
              {
                head: t("agents.overrides"),
                end: true,
                cell: ({ profile }) => Object.keys(profile.tools ?? {}).length,
              },
              {
                head: t("agents.notes"),
                cell: ({ unknown }) =>
                  unknown.length > 0 && (
                    <Pill tone="warn">{t("agents.unknown", { names: unknown.join(", ") })}</Pill>
                  ),
              },
              { head: t("field.changed"), cell: (agent) => <When at={agent.updated_at} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={agents} />
    </Page>
  );
}

function NewAgent() {
  const { t } = useTexts();
  const go = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [id, setId] = useState("");
  const [title, setTitle] = useState("");
  const make = useMutation({
    mutationFn: () => data(api.POST("/api/v1/admin/agents", { body: { id, title } })),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["admin"] });
      void go(`/admin/agents/${encodeURIComponent(made.profile.id)}`);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    make.mutate();
  }
  return (
    <>
      <Button leftSection={<Plus size={15} aria-hidden />} onClick={() => setOpen(true)}>
        {t("agents.new")}
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={t("agents.new")}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        <form onSubmit={submit} className={css.stack}>
          <TextInput
            data-autofocus
            label="ID"
            description={t("agents.id.help")}
            required
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
          />
          <TextInput
            label={t("agents.title")}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          {make.error !== null && <ErrorView error={asApiError(make.error)} compact />}
          <div className={css.formFoot}>
            <Button type="submit" loading={make.isPending}>
              {t("common.create")}
            </Button>
          </div>
        </form>
      </Modal>
    </>
  );
}
