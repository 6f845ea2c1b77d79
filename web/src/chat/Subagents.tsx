/** The sub-agents of a call, each with its task, its routes and what it did. */
import { Badge, Loader } from "@mantine/core";
import { Bot } from "lucide-react";
import type { ComponentType } from "react";
import type { Call, Item, SessionState, Subagent } from "../events/model";
import { TEXTS, type TextKey, useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { AnswerItem } from "./MessageItem";
import css from "./Subagents.module.css";
import { useSession } from "./useSession";

/** Draws one call; passed in because a card contains the sub-agents of its own call. */
type Card = ComponentType<{ id: string }>;

interface Props {
  call: Call;
  Card: Card;
}

export function Subagents({ call, Card }: Props) {
  const none = call.subagents.length === 0 && call.inner.length === 0;
  return none ? null : <Tree call={call} Card={Card} />;
}

function Tree({ call, Card }: Props) {
  const session = useSession((state) => state);
  const named = new Set(call.subagents.map((one) => one.runId));
  const others = call.inner.filter((item) => !named.has(runOf(session, item) ?? ""));
  return (
    <ul className={css.tree}>
      {call.subagents.map((one) => (
        <li key={one.runId} className={css.agent}>
          <Head agent={one} />
          <Inner
            items={call.inner.filter((item) => runOf(session, item) === one.runId)}
            Card={Card}
          />
          {one.summary !== null && (
            <p className={`${css.summary} foreign`}>{visible(one.summary)}</p>
          )}
        </li>
      ))}
      {others.length > 0 && (
        <li>
          <Inner items={others} Card={Card} />
        </li>
      )}
    </ul>
  );
}

function Head({ agent }: { agent: Subagent }) {
  const { t } = useTexts();
  const key = `chat.run.${agent.status ?? "running"}`;
  const routes = Object.entries(agent.routes);
  const counts = new Map<string, number>();
  for (const [, route] of routes) counts.set(route, (counts.get(route) ?? 0) + 1);
  return (
    <div className={css.head}>
      <p className={css.name}>
        <Bot size={15} aria-hidden />
        <b className="foreign">{visible(agent.name)}</b>
        {agent.status === null && <Loader size={12} aria-hidden />}
        <span className={css.status} data-status={agent.status ?? "running"}>
          {t(key in TEXTS ? (key as TextKey) : "chat.run.unknown")}
        </span>
      </p>
      {agent.task !== agent.name && <p className={`${css.task} foreign`}>{visible(agent.task)}</p>}
      {counts.size > 0 && (
        <p className={css.routes}>
          {[...counts].map(([route, count]) => {
            const label = `route.${route}`;
            return (
              <Badge key={route} size="sm" variant="default" tt="none" fw={500}>
                {t(label in TEXTS ? (label as TextKey) : "route.unknown")} · {count}
              </Badge>
            );
          })}
        </p>
      )}
    </div>
  );
}

function Inner({ items, Card }: { items: readonly Item[]; Card: Card }) {
  const messages = useSession((state) => state.messages);
  return items.map((item) => {
    if (item.kind === "call") return <Card key={item.id} id={item.id} />;
    const message = item.kind === "message" ? messages.get(item.id) : undefined;
    return message?.role === "assistant" ? (
      <AnswerItem key={item.id} content={message.content} />
    ) : null;
  });
}

function runOf(session: SessionState, item: Item): string | null {
  if (item.kind === "call") return session.calls.get(item.id)?.runId ?? null;
  if (item.kind === "message") return session.messages.get(item.id)?.runId ?? null;
  return item.kind === "run_end" ? item.id : null;
}
