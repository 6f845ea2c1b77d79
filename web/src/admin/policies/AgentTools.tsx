/** Every tool for one agent: its own choice, what follows, and a hint of its own. */
import { Button, Modal, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Loaded, Section } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { Table } from "../parts/Table";
import { Cell, ownChoice } from "./ToolMatrix";
import { whyOff } from "./toolReasons";

type Agent = Schemas["AgentView"];

interface Props {
  agent: Agent;
  take: (changed: Agent) => void;
}

export function AgentTools({ agent, take }: Props) {
  const { t, language } = useTexts();
  const [typed, setTyped] = useState("");
  const id = agent.profile.id;
  const resolved = useQuery({
    queryKey: ["admin", "resolve", id],
    queryFn: () => data(api.GET("/api/v1/admin/toolset", { params: { query: { agent_id: id } } })),
  });
  const wanted = typed.trim().toLowerCase();
  return (
    <Section
      title={t("agents.tools")}
      lead={t("agents.tools.lead")}
      actions={
        <Link className={css.link} to="/admin/tools/agents">
          {t("agents.matrix")}
        </Link>
      }
    >
      <div className={css.bar}>
        <TextInput
          className={css.grow ?? ""}
          label={t("common.search")}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </div>
      <Loaded query={resolved}>
        {(found) => (
          <div className={css.tall}>
            <Table
              label={t("agents.tools")}
              rows={found.runtime_diagnostic.tools.filter((tool) => tool.name.includes(wanted))}
              id={(tool) => tool.name}
              empty={t("filter.nothing")}
              columns={[
                {
                  head: t("tools.tool"),
                  cell: (tool) => (
                    <Link className={`${css.link} mono`} to={`/admin/tools/tool/${tool.name}`}>
                      {tool.name}
                    </Link>
                  ),
                },
                {
                  head: t("tools.state"),
                  wide: true,
                  cell: (tool) => (
                    <>
                      <Cell agent={agent} name={tool.name} tool={tool} onSaved={take} />
                      <span className={`${css.under} foreign`}>
                        {whyOff(tool, { t, language })}
                      </span>
                    </>
                  ),
                },
                {
                  head: t("tools.hint"),
                  cell: (tool) => <Hint agent={agent} name={tool.name} take={take} />,
                },
              ]}
            />
          </div>
        )}
      </Loaded>
    </Section>
  );
}

function Hint({ agent, name, take }: Props & { name: string }) {
  const { t } = useTexts();
  const own = ownChoice(agent, name);
  const [open, setOpen] = useState(false);
  const [hint, setHint] = useState("");
  const label = t(own?.hint == null ? "agents.hint.add" : "agents.hint.change");
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`${label}: ${name}`}
        onClick={() => {
          setHint(own?.hint ?? "");
          setOpen(true);
        }}
      >
        {label}
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={t("agents.hint.of", { tool: name })}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        <SaveForm
          save={() =>
            data(
              api.PUT("/api/v1/admin/agents/{agent_id}/tools/{name}", {
                params: {
                  path: { agent_id: agent.profile.id, name },
                  header: ifMatch(agent.version),
                },
                body: {
                  state: own?.state ?? null,
                  hint: hint.trim() === "" ? null : hint.trim(),
                },
              }),
            )
          }
          onSaved={(changed) => {
            take(changed);
            setOpen(false);
          }}
        >
          <Textarea
            data-autofocus
            label={t("tools.hint")}
            description={t("tools.hint.help")}
            autosize
            minRows={3}
            maxLength={2000}
            value={hint}
            onChange={(event) => setHint(event.currentTarget.value)}
          />
        </SaveForm>
      </Modal>
    </>
  );
}
