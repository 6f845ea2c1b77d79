/** Everything that happened, in its order; the newest is kept in view while one is there. */
import { ActionIcon, Button } from "@mantine/core";
import {
  ArrowDown,
  CircleAlert,
  Info,
  Layers,
  LifeBuoy,
  type LucideIcon,
  RotateCw,
  Terminal,
} from "lucide-react";
import { memo, type ReactNode, useEffect, useMemo, useState } from "react";
import { useLocation } from "react-router";
import { useStore } from "zustand";
import type { Item, Note, Placed } from "../events/model";
import { TEXTS, type TextKey, type Translate, useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { explain } from "../shell/ErrorView";
import { useConnection } from "../shell/identity";
import { notifyError } from "../shell/notify";
import { Lines, Said } from "../shell/Said";
import { BranchNotice, BranchProvider, SoughtElsewhere } from "./Branching";
import { CallCard } from "./CallCard";
import { CallFold } from "./CallFold";
import css from "./Chat.module.css";
import { useKept } from "./cardMemory";
import { dollars } from "./cost";
import { duration } from "./Duration";
import { type Drawn, drawn, marksOf } from "./folding";
import { HeldPlace } from "./HeldPlace";
import { DraftItem, MessageItem, UserMessage } from "./MessageItem";
import { discard, type Outgoing, outboxOf, sayAgain } from "./outbox";
import { usePartial, useSession, useThisFeed } from "./useSession";
import { useStickToEnd } from "./useStickToEnd";

/** Entries that are drawn at first, and added by each wish for more. */
const STEP = 150;

export function Timeline({ children }: { children?: ReactNode }) {
  const { t } = useTexts();
  const [shown, setShown] = useState(STEP);
  const { box, inner, away, toEnd, leaveEnd } = useStickToEnd();
  const { hash } = useLocation();
  const sought = hash.slice(1);

  const feed = useThisFeed();

  function showEarlier() {
    feed
      .complete()
      .then(() => setShown((before) => before + STEP))
      .catch(notifyError);
  }

  function lookAt() {
    leaveEnd();
    inner.current
      ?.querySelector(`[data-entry="${CSS.escape(sought)}"]`)
      ?.scrollIntoView({ block: "center" });
  }

  return (
    <div className={css.view}>
      <div
        ref={box}
        className={css.scroller}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t("chat.log")}
      >
        <div ref={inner} className={css.thread}>
          <BranchProvider>
            {(items) => (
              <>
                <SoughtElsewhere sought={sought} />
                <Entries
                  items={items}
                  shown={shown}
                  sought={sought}
                  onMore={showEarlier}
                  onSought={lookAt}
                />
              </>
            )}
          </BranchProvider>
          <Drafts />
          <Waiting />
          {children}
        </div>
      </div>
      {away && (
        <ActionIcon
          className={css.toEnd}
          variant="default"
          radius="xl"
          size="lg"
          aria-label={t("chat.to_end")}
          onClick={toEnd}
        >
          <ArrowDown size={18} aria-hidden />
        </ActionIcon>
      )}
    </div>
  );
}

interface EntriesProps {
  items: readonly Placed[];
  shown: number;
  /** The message that a search has led to; empty for none. */
  sought: string;
  onMore: () => void;
  onSought: () => void;
}

function Entries({ items, shown, sought, onMore, onSought }: EntriesProps) {
  const { t } = useTexts();
  const { key } = useLocation();
  const kept = useKept();
  const marks = useSession((session) => marksOf(session, items, kept));
  const all = useMemo(() => drawn(items, marks), [items, marks]);
  const place = useMemo(() => placeOf(sought, all), [sought, all]);
  const hidden = Math.max(0, all.length - Math.max(shown, place < 0 ? 0 : all.length - place));
  const first = all[hidden];
  const isThere = place >= 0;
  const feed = useThisFeed();
  const partial = usePartial();
  const isMissing = partial && sought !== "" && !isThere;

  // What a search has led to may be further back.
  useEffect(() => {
    if (isMissing) feed.complete().catch(notifyError);
  }, [isMissing, feed]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each time somebody goes there
  useEffect(() => {
    if (isThere) onSought();
  }, [isThere, key]);

  return (
    <>
      {(hidden > 0 || partial) && (
        <Button variant="subtle" color="gray" size="xs" onClick={onMore}>
          {partial ? t("chat.earlier.load") : t("chat.earlier", { count: hidden })}
        </Button>
      )}
      <HeldPlace first={first && idOf(first)}>
        {all.slice(hidden).map((one) =>
          one.kind === "fold" ? (
            <div key={`fold-${one.id}`} className={css.item} data-kind="call">
              <CallFold id={one.id} calls={one.calls} />
            </div>
          ) : (
            <div
              key={`${one.item.kind}-${one.item.id}`}
              className={css.item}
              data-kind={one.item.kind}
              data-entry={one.item.id}
              data-sought={one.item.id === sought || undefined}
            >
              <Entry item={one.item} />
            </div>
          ),
        )}
      </HeldPlace>
      <BranchNotice />
    </>
  );
}

const idOf = (one: Drawn) => (one.kind === "fold" ? one.id : one.item.id);

function placeOf(sought: string, all: readonly Drawn[]): number {
  if (sought === "") return -1;
  return all.findIndex((one) => one.kind !== "fold" && one.item.id === sought);
}

const Entry = memo(function Entry({ item }: { item: Item }) {
  const message = useSession((session) =>
    item.kind === "message" ? session.messages.get(item.id) : undefined,
  );
  if (item.kind === "call") return <CallCard id={item.id} />;
  if (item.kind === "run_end") return <RunEnd id={item.id} />;
  if (item.kind === "note") return <NoteLine note={item.note} />;
  return message === undefined ? null : <MessageItem message={message} />;
});

function Drafts() {
  const drafts = useSession((session) => session.drafts);
  const active = useSession((session) => session.active);
  const calls = useSession((session) => session.calls);
  const own = [...drafts.values()].filter((draft) => active.includes(draft.runId ?? ""));
  const busy = [...calls.values()].some(
    (call) => call.status === "running" || call.status === "waiting",
  );
  const { t } = useTexts();
  return (
    <>
      {own.map((draft) => (
        <DraftItem key={draft.id} draft={draft} />
      ))}
      {own.length === 0 && active.length > 0 && !busy && (
        <p className={css.writing} role="status">
          {t("chat.working")}
          <span className={css.dots} aria-hidden />
        </p>
      )}
    </>
  );
}

/** What was sent and is not in the log yet. */
function Waiting() {
  const feed = useThisFeed();
  const messages = useStore(outboxOf(useConnection()), (state) => state.messages);
  const own = messages.filter((one) => one.sessionId === feed.id);
  return own.map((message) => <Unsent key={message.id} message={message} />);
}

function Unsent({ message }: { message: Outgoing }) {
  const { t } = useTexts();
  const connection = useConnection();
  return (
    <div className={css.unsent}>
      <UserMessage content={message.content}>
        {message.error === null ? (
          <p className={css.sending}>{t("chat.sending")}</p>
        ) : (
          <div role="alert" className={css.refused}>
            <p>
              <Lines {...explain(message.error, t)} />
            </p>
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => sayAgain(connection, message)}
            >
              {t("error.retry")}
            </Button>{" "}
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={() => discard(connection, message.id)}
            >
              {t("chat.discard")}
            </Button>
          </div>
        )}
      </UserMessage>
    </div>
  );
}

/** How a run ended, what it took. */
function RunEnd({ id }: { id: string }) {
  const { t, language } = useTexts();
  const run = useSession((session) => session.runs.get(id));
  if (run === undefined || run.finishedAt === null) return null;
  const tokens = run.inputTokens + run.outputTokens + run.cachedTokens;
  const took = Date.parse(run.finishedAt) - Date.parse(run.startedAt);
  const fine = run.status === "success";
  const key = `chat.run.${run.status ?? "running"}`;
  const figure = (value: number) => value.toLocaleString(language);
  return (
    <div className={css.runEnd} data-status={run.status}>
      {!fine && (
        <p className={css.runStatus}>
          <CircleAlert size={15} aria-hidden />
          {t(key in TEXTS ? (key as TextKey) : "chat.run.unknown")}
          {run.error !== null && (
            <span>
              {": "}
              <Said code={run.error.code} message={run.error.message} />
            </span>
          )}
        </p>
      )}
      <p className={css.figures}>
        {duration(took, language)}
        {run.model !== null && ` · ${visible(run.model)}`}
        {tokens > 0 &&
          ` · ${t("chat.run.tokens", { input: figure(run.inputTokens + run.cachedTokens), output: figure(run.outputTokens) })}`}
        {run.cost !== null && tokens > 0 && ` · ${dollars(run.cost, language)}`}
      </p>
    </div>
  );
}

const NOTE_ICON: Readonly<Record<Note["type"], LucideIcon>> = {
  compacted: Layers,
  resumed: RotateCw,
  ticket_opened: LifeBuoy,
  ticket_resolved: LifeBuoy,
  process_ended: Terminal,
};

function NoteLine({ note }: { note: Note }) {
  const { t } = useTexts();
  const Icon = NOTE_ICON[note.type] ?? Info;
  return (
    <p className={css.note}>
      <Icon size={14} aria-hidden />
      <span className="foreign">{noteText(note, t)}</span>
    </p>
  );
}

function noteText(note: Note, t: Translate): string {
  switch (note.type) {
    case "compacted":
      return t("note.compacted");
    case "resumed":
      return t("note.resumed");
    case "ticket_opened":
      return t("note.ticket_opened", { reason: visible(note.reason) });
    case "ticket_resolved":
      return t("note.ticket_resolved", { answer: visible(note.answer ?? note.status) });
    case "process_ended":
      return t("note.process_ended", { command: visible(note.command), code: note.exitCode });
  }
}
