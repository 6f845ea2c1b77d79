/** A call of one tool, made for real; it is judged, asked about and recorded like any other. */
import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { CallCard } from "../../chat/CallCard";
import { Dock } from "../../chat/Dock";
import { ToolForm } from "../../chat/ToolForm";
import type { ToolRow } from "../../chat/tools";
import { FeedProvider, useFeed, useOpening, useSession } from "../../chat/useSession";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { isObject, text } from "../../renderers/data";
import { ErrorView } from "../../shell/ErrorView";
import { Loaded, Section } from "../parts/Page";
import css from "../parts/parts.module.css";

export function TryTool({ name, on }: { name: string; on: boolean }) {
  const { t } = useTexts();
  const [session, setSession] = useState<string | null>(null);
  const start = useMutation({
    mutationFn: () =>
      data(api.POST("/api/v1/sessions", { body: { title: t("try.session", { tool: name }) } })),
    onSuccess: (made) => setSession(made.id),
  });
  return (
    <Section
      title={t("try.title")}
      lead={t("try.lead")}
      actions={
        session === null ? (
          <Button disabled={!on} loading={start.isPending} onClick={() => start.mutate()}>
            {t("try.start")}
          </Button>
        ) : (
          <Link className={css.link} to={`/chat/${session}`}>
            {t("try.open")}
          </Link>
        )
      }
    >
      {!on && <p className={css.note}>{t("try.off")}</p>}
      {start.error !== null && <ErrorView error={asApiError(start.error)} compact />}
      {session !== null && (
        <Trial name={name} sessionId={session} onClose={() => setSession(null)} />
      )}
    </Section>
  );
}

interface TrialProps {
  name: string;
  sessionId: string;
  onClose: () => void;
}

function Trial({ name, sessionId, onClose }: TrialProps) {
  const feed = useFeed(sessionId);
  const { loading } = useOpening(feed);
  const [calls, setCalls] = useState<readonly string[]>([]);
  const tool = useQuery({
    queryKey: ["tool", name],
    queryFn: async (): Promise<ToolRow> => {
      const { tool: row } = await data(
        api.GET("/api/v1/tools/{name}", { params: { path: { name } } }),
      );
      const found = isObject(row) ? row : {};
      return {
        name: text(found.name),
        description: text(found.description),
        category: text(found.category),
        parameters: found.parameters,
        enabled: true,
      };
    },
  });
  const call = useMutation({
    mutationFn: (args: Record<string, unknown>): Promise<Schemas["CallResult"]> => {
      const id = `try_${crypto.randomUUID().replaceAll("-", "")}`;
      setCalls((former) => [id, ...former]);
      return data(
        api.POST("/api/v1/tools/{name}/call", {
          // The card draws the call from its events.
          params: { path: { name }, query: { result: "text" } },
          body: {
            id,
            session_id: sessionId,
            arguments: args as Schemas["DirectCall"]["arguments"],
            cacheable: false,
          },
        }),
      );
    },
  });
  return (
    <FeedProvider value={feed}>
      <div className={css.stack}>
        <Loaded query={tool}>
          {(found) => (
            <ToolForm
              tool={found}
              busy={call.isPending || loading}
              onRun={(args) => call.mutate(args)}
              onCancel={onClose}
            />
          )}
        </Loaded>
        {call.error !== null && <ErrorView error={asApiError(call.error)} compact />}
        <Dock />
        <div className={css.stack} role="log" data-testid="tried">
          {calls.map((id) => (
            <Tried key={id} callId={id} />
          ))}
        </div>
      </div>
    </FeedProvider>
  );
}

/** The card of a call, which is found by its attempt. */
function Tried({ callId }: { callId: string }) {
  const attempt = useSession((session) => session.attempts.get(callId)?.at(-1));
  return attempt === undefined ? null : <CallCard id={attempt} />;
}
