/** One agent: its profile to edit, and what follows from it. */
import { Button, NumberInput, Switch, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api, data, type Schemas } from "../api/client";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { ErrorView } from "../shell/ErrorView";
import { notifyDone } from "../shell/notify";
import { AskFirst } from "./parts/AskFirst";
import { Facts } from "./parts/Bits";
import { Loaded, Page, Section } from "./parts/Page";
import { ifMatch } from "./parts/pages";
import css from "./parts/parts.module.css";

type Agent = Schemas["AgentView"];

export function AgentPage() {
  const { t } = useTexts();
  const id = useParams().id ?? "";
  const go = useNavigate();
  const queries = useQueryClient();
  const agent = useQuery({
    queryKey: ["admin", "agent", id],
    queryFn: () =>
      data(api.GET("/api/v1/admin/agents/{agent_id}", { params: { path: { agent_id: id } } })),
  });
  const found = agent.data;
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
      <Loaded query={agent}>{(view) => <Profile key={view.version} agent={view} />}</Loaded>
      <Follows id={id} />
    </Page>
  );
}

const names = (typed: string): string[] | null => {
  const list = typed.split(/[\s,]+/).filter((one) => one !== "");
  return list.length === 0 ? null : list;
};
const whole = (value: string | number): number | null => (value === "" ? null : Number(value));

function Profile({ agent }: { agent: Agent }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const { profile } = agent;
  const limits = profile.subagents;
  const [title, setTitle] = useState(profile.title ?? "");
  const [model, setModel] = useState(profile.model ?? "");
  const [prompt, setPrompt] = useState(profile.system_prompt ?? "");
  const [selection, setSelection] = useState(profile.selection?.join(", ") ?? "");
  const [rounds, setRounds] = useState<string | number>(profile.max_iterations ?? "");
  const [inner, setInner] = useState(limits?.selection?.join(", ") ?? "");
  const [readOnly, setReadOnly] = useState(limits?.read_only ?? false);
  const [noShell, setNoShell] = useState(limits?.no_shell ?? false);
  const [depth, setDepth] = useState<string | number>(limits?.max_depth ?? "");
  const [innerRounds, setInnerRounds] = useState<string | number>(limits?.max_iterations ?? "");
  const change = useMutation({
    mutationFn: (body: Schemas["AgentChange"]) =>
      data(
        api.PATCH("/api/v1/admin/agents/{agent_id}", {
          params: { path: { agent_id: profile.id }, header: ifMatch(agent.version) },
          body,
        }),
      ),
    onSuccess: () => {
      notifyDone(t("common.saved"));
      void queries.invalidateQueries({ queryKey: ["admin"] });
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate({
      title,
      model: model.trim() === "" ? null : model.trim(),
      system_prompt: prompt.trim() === "" ? null : prompt,
      selection: names(selection),
      max_iterations: whole(rounds),
      subagents: {
        ...limits,
        selection: names(inner),
        read_only: readOnly,
        no_shell: noShell,
        max_depth: whole(depth),
        max_iterations: whole(innerRounds),
      },
    });
  }
  return (
    <form onSubmit={submit}>
      <Section title={t("agents.profile")} lead={t("agents.profile.lead")}>
        <div className={css.form}>
          <TextInput
            label={t("agents.title")}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <TextInput
            label={t("agents.model")}
            placeholder={t("agents.model.default")}
            value={model}
            onChange={(event) => setModel(event.currentTarget.value)}
          />
          <NumberInput
            label={t("agents.rounds")}
            placeholder={t("agents.default")}
            min={1}
            allowDecimal={false}
            hideControls
            value={rounds}
            onChange={setRounds}
          />
          <TextInput
            label={t("agents.selection")}
            description={t("agents.selection.help")}
            placeholder={t("agents.everything")}
            value={selection}
            onChange={(event) => setSelection(event.currentTarget.value)}
          />
          <Textarea
            className={css.whole ?? ""}
            label={t("agents.prompt")}
            autosize
            minRows={3}
            maxRows={16}
            value={prompt}
            onChange={(event) => setPrompt(event.currentTarget.value)}
          />
        </div>
        {agent.unknown.length > 0 && (
          <p className={css.note} data-tone="warn" style={{ marginTop: 14 }}>
            {t("agents.unknown", { names: agent.unknown.join(", ") })}
          </p>
        )}
      </Section>
      <Section title={t("agents.subagents")} lead={t("agents.subagents.lead")}>
        <div className={css.form}>
          <TextInput
            label={t("agents.selection")}
            placeholder={t("agents.inherits")}
            value={inner}
            onChange={(event) => setInner(event.currentTarget.value)}
          />
          <NumberInput
            label={t("agents.depth")}
            placeholder={t("agents.default")}
            min={0}
            allowDecimal={false}
            hideControls
            value={depth}
            onChange={setDepth}
          />
          <NumberInput
            label={t("agents.rounds")}
            placeholder={t("agents.default")}
            min={1}
            allowDecimal={false}
            hideControls
            value={innerRounds}
            onChange={setInnerRounds}
          />
          <Switch
            label={t("agents.read_only")}
            checked={readOnly}
            onChange={(event) => setReadOnly(event.currentTarget.checked)}
          />
          <Switch
            label={t("agents.no_shell")}
            checked={noShell}
            onChange={(event) => setNoShell(event.currentTarget.checked)}
          />
        </div>
        {change.error !== null && (
          <ErrorView
            error={asApiError(change.error)}
            onRetry={() => void queries.invalidateQueries({ queryKey: ["admin"] })}
          />
        )}
        <div className={css.formFoot}>
          <Button type="submit" loading={change.isPending}>
            {t("common.save")}
          </Button>
        </div>
      </Section>
    </form>
  );
}

/** What a model would be told and shown. */
function Follows({ id }: { id: string }) {
  const { t, language } = useTexts();
  const resolved = useQuery({
    queryKey: ["admin", "resolve", id],
    queryFn: () => data(api.GET("/api/v1/admin/resolve", { params: { query: { agent_id: id } } })),
  });
  return (
    <Section
      title={t("agents.follows")}
      lead={t("agents.follows.lead")}
      actions={
        <Link className={css.link} to="/admin/tools/agents">
          {t("agents.matrix")}
        </Link>
      }
    >
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
