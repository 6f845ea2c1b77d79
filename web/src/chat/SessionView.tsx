/** One session: its head, what happened, what waits, and the place to write. */
import { ActionIcon, Loader, Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Download, Ellipsis, SlidersHorizontal } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { api, data } from "../api/client";
import type { SessionState } from "../events/model";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { ErrorView } from "../shell/ErrorView";
import { useConnection } from "../shell/identity";
import { notifyError } from "../shell/notify";
import css from "./Chat.module.css";
import { Composer } from "./Composer";
import { dollars, usageOf } from "./cost";
import { Dock } from "./Dock";
import { asMarkdown, saveFile } from "./exporting";
import { say } from "./outbox";
import { Timeline } from "./Timeline";
import { sendFiles } from "./uploads";
import { FeedProvider, useFeed, useOpening, useSession, useThisFeed } from "./useSession";

const ModelDialog = lazy(() => import("./ModelDialog"));

export function SessionView({ sessionId }: { sessionId: string }) {
  const feed = useFeed(sessionId);
  const { t } = useTexts();
  const { loading, error } = useOpening(feed);
  return (
    <FeedProvider value={feed}>
      <div className={css.page} data-session={sessionId}>
        <Head sessionId={sessionId} />
        {error !== null ? (
          <div className={css.middle}>
            <ErrorView error={error} onRetry={() => void feed.open()} />
          </div>
        ) : loading ? (
          <div className={css.middle}>
            <Loader aria-label={t("common.loading")} role="status" />
          </div>
        ) : (
          <>
            <Timeline key={feed.id} />
            <Foot sessionId={sessionId} />
          </>
        )}
      </div>
    </FeedProvider>
  );
}

function Head({ sessionId }: { sessionId: string }) {
  const { t, language } = useTexts();
  const feed = useThisFeed();
  const query = useQuery({
    queryKey: ["session", sessionId],
    queryFn: () =>
      data(
        api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: sessionId } } }),
      ),
  });
  const { tokens, cost } = usageOf(query.data?.usage ?? {});
  const title = visible(query.data?.title ?? "");
  const [choosing, setChoosing] = useState(false);
  const { model, max_tokens: answer, temperature } = query.data ?? {};

  async function save(kind: "md" | "json") {
    try {
      await feed.complete();
    } catch (error) {
      notifyError(error);
      return;
    }
    const { session } = feed.store.getState();
    const name = (title || sessionId).replace(/[^\p{L}\p{N} _-]/gu, "").slice(0, 80) || sessionId;
    if (kind === "md") saveFile(`${name}.md`, "text/markdown", asMarkdown(title, session));
    else void exportJson(sessionId, name);
  }

  return (
    <header className={css.head}>
      <h1 className={`${css.title} foreign`}>{title}</h1>
      <span className={css.facts}>
        {query.data?.agent_id != null && <span>{visible(query.data.agent_id)}</span>}
        {model != null && <span>{visible(model)}</span>}
        {answer != null && (
          <span>{t("chat.model.up_to", { count: answer.toLocaleString(language) })}</span>
        )}
        {temperature != null && (
          <span>
            {t("chat.model.temperature_is", { value: temperature.toLocaleString(language) })}
          </span>
        )}
        {tokens > 0 && <span>{t("chat.tokens", { count: tokens.toLocaleString(language) })}</span>}
        {cost !== null && <span>{dollars(cost, language)}</span>}
      </span>
      <Menu position="bottom-end" shadow="md">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t("chat.session_menu")}>
            <Ellipsis size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown aria-label={t("chat.session_menu")}>
          <Menu.Item
            leftSection={<SlidersHorizontal size={15} aria-hidden />}
            disabled={query.data === undefined}
            onClick={() => setChoosing(true)}
          >
            {t("chat.model.settings")}
          </Menu.Item>
          <Menu.Item
            leftSection={<Download size={15} aria-hidden />}
            onClick={() => void save("md")}
          >
            {t("chat.export_markdown")}
          </Menu.Item>
          <Menu.Item
            leftSection={<Download size={15} aria-hidden />}
            onClick={() => void save("json")}
          >
            {t("chat.export_json")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {choosing && query.data !== undefined && (
        <Suspense>
          <ModelDialog session={query.data} onClose={() => setChoosing(false)} />
        </Suspense>
      )}
    </header>
  );
}

/** The session as the service keeps it. */
async function exportJson(sessionId: string, name: string): Promise<void> {
  try {
    const params = { path: { session_id: sessionId } };
    const session = await data(api.GET("/api/v1/sessions/{session_id}", { params }));
    const tree = { ...params, query: { tree: true } };
    const messages = await data(
      api.GET("/api/v1/sessions/{session_id}/messages", { params: tree }),
    );
    const calls = await data(api.GET("/api/v1/sessions/{session_id}/calls", { params }));
    const whole = { session, ...messages, calls: calls.calls };
    saveFile(`${name}.json`, "application/json", JSON.stringify(whole, null, 2));
  } catch (error) {
    notifyError(error);
  }
}

function Foot({ sessionId }: { sessionId: string }) {
  const { t } = useTexts();
  const connection = useConnection();
  const active = useSession((session) => session.active);
  const running = useSession(activeModel);

  function stop() {
    for (const run of active) {
      connection
        .command("cancel", { session_id: sessionId, target: "run", target_id: run })
        .catch(notifyError);
    }
  }

  async function call(name: string, args: Record<string, unknown>, id: string) {
    const fields = { session_id: sessionId, name, arguments: args };
    await connection.command("tool_call", fields, id);
  }

  return (
    <div className={css.foot}>
      <Dock />
      <Composer
        place={sessionId}
        active={active.length > 0}
        busy={false}
        onSay={async (content, files, sending) =>
          say(connection, sessionId, [...content, ...(await sendFiles(sessionId, files, sending))])
        }
        onCall={call}
        onStop={stop}
      >
        <span className={css.running}>
          {active.length > 0 &&
            (running === null ? t("chat.busy") : t("chat.busy_model", { model: running }))}
        </span>
      </Composer>
    </div>
  );
}

function activeModel(session: SessionState): string | null {
  const run = session.runs.get(session.active.at(-1) ?? "");
  return run?.model == null ? null : visible(run.model);
}
