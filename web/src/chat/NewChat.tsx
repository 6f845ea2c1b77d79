/** A session that begins with its first message. */
import { NativeSelect, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { api, data } from "../api/client";
import type { ContentBlock } from "../events/messages";
import { translate, useTexts } from "../i18n";
import { useConnection, useIdentity } from "../shell/identity";
import { type Attachment, refused } from "./attachments";
import css from "./Chat.module.css";
import { Composer } from "./Composer";
import { moveDraft, NEW_SESSION } from "./drafts";
import { ModelFields } from "./ModelFields";
import { say } from "./outbox";
import { AS_AGENT, createSession, modelSettings, SESSIONS } from "./sessions";
import { type Sending, sendFiles } from "./uploads";

export function NewChat() {
  const { t } = useTexts();
  const navigate = useNavigate();
  const connection = useConnection();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [agent, setAgent] = useState("");
  const [project, setProject] = useState("default");
  const [model, setModel] = useState(AS_AGENT);
  // Who has gone on to something else is not called back.
  const here = useRef(false);
  // The sessions of a call and of files that were refused: the next try needs no second one.
  const begun = useRef<string | null>(null);
  const filled = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice needs another session
  useEffect(() => {
    begun.current = null;
    filled.current = null;
  }, [agent, project, model]);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);

  async function begin(title?: string): Promise<string> {
    setBusy(true);
    try {
      const session = await createSession({
        ...(title === undefined ? {} : { title }),
        project_id: project === "" ? null : project,
        ...(agent === "" ? {} : { agent_id: agent }),
        ...modelSettings(model),
      });
      void queries.invalidateQueries({ queryKey: SESSIONS });
      return session.id;
    } finally {
      setBusy(false);
    }
  }

  async function sayFirst(content: ContentBlock[], files: readonly Attachment[], sending: Sending) {
    if (files.length > 0 && project === "") throw refused(translate("chat.file.no_workspace"));
    filled.current ??= await begin();
    const id = filled.current;
    const blocks = await sendFiles(id, files, sending);
    say(connection, id, [...content, ...blocks]);
    go(id);
  }

  async function callFirst(name: string, args: Record<string, unknown>, command: string) {
    begun.current ??= await begin(`/${name}`);
    const id = begun.current;
    await connection.command("tool_call", { session_id: id, name, arguments: args }, command);
    go(id);
  }

  function go(id: string) {
    if (!here.current) return;
    moveDraft(connection, NEW_SESSION, id);
    void navigate(`/chat/${id}`);
  }

  return (
    <div className={css.fresh}>
      <div className={css.welcome}>
        <Title order={1} size="h2">
          {t("chat.welcome")}
        </Title>
        <p className={css.lead}>{t("chat.welcome.lead")}</p>
      </div>
      <Composer
        place={NEW_SESSION}
        active={false}
        busy={busy}
        onSay={sayFirst}
        onCall={callFirst}
        onStop={() => {}}
      />
      <div className={css.setup}>
        <AgentChoice value={agent} onChange={setAgent} />
        <ProjectChoice value={project} onChange={setProject} />
        <ModelFields size="xs" value={model} onChange={setModel} />
      </div>
    </div>
  );
}

interface ChoiceProps {
  value: string;
  onChange: (value: string) => void;
}

/** Administrators see every agent; others those that their token names. */
function AgentChoice({ value, onChange }: ChoiceProps) {
  const { t } = useTexts();
  const { me, may } = useIdentity();
  const query = useQuery({
    queryKey: ["agents", "names"],
    enabled: may("admin"),
    queryFn: () => data(api.GET("/api/v1/admin/agents")),
  });
  const listed = query.data?.agents.map(({ profile }) => ({
    value: profile.id,
    label: profile.title || profile.id,
  }));
  const named = me?.agents?.map((id) => ({ value: id, label: id }));
  return (
    <NativeSelect
      size="xs"
      label={t("chat.agent")}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[{ value: "", label: t("chat.agent.none") }, ...(listed ?? named ?? [])]}
    />
  );
}

function ProjectChoice({ value, onChange }: ChoiceProps) {
  const { t } = useTexts();
  const query = useQuery({
    queryKey: ["projects"],
    queryFn: () => data(api.GET("/api/v1/projects")),
  });
  const projects = query.data?.projects ?? [];
  return (
    <NativeSelect
      size="xs"
      label={t("chat.project")}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        ...(projects.length === 0 ? [{ value: "default", label: "default" }] : []),
        ...projects.map((one) => ({ value: one.id, label: one.name || one.id })),
        { value: "", label: t("chat.project.none") },
      ]}
    />
  );
}
