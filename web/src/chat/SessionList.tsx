/** The sessions at the side: found, renamed, begun. */
import { ActionIcon, Button, Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { GitBranch, Pencil, Plus, Search } from "lucide-react";
import { type FormEvent, useMemo, useState } from "react";
import { Link, NavLink } from "react-router";
import { asApiError } from "../events/sessionStore";
import { type TextKey, useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { ErrorView } from "../shell/ErrorView";
import { useInbox } from "../shell/inbox";
import { notifyError } from "../shell/notify";
import css from "./SessionList.module.css";
import {
  byAge,
  MOST_SEARCHED,
  type SessionHit,
  type SessionView,
  splitAt,
  useRename,
  useSessions,
} from "./sessions";

/** How long nobody types before it is looked for. */
const PAUSE_MS = 200;

export function SessionList() {
  const { t } = useTexts();
  const [search, setSearch] = useState("");
  const [wanted] = useDebouncedValue(search.trim(), PAUSE_MS);
  const query = useSessions(wanted);
  const pages = query.data?.pages;
  const shown = useMemo(() => pages?.flatMap((page) => page.sessions) ?? [], [pages]);
  const hits = useMemo(() => hitsOf(pages?.flatMap((page) => page.hits ?? []) ?? []), [pages]);

  return (
    <div className={css.whole}>
      <div className={css.tools}>
        <Button
          component={Link}
          to="/chat"
          variant="default"
          fullWidth
          justify="flex-start"
          leftSection={<Plus size={16} aria-hidden />}
        >
          {t("sessions.new")}
        </Button>
        <TextInput
          size="xs"
          type="search"
          leftSection={<Search size={14} aria-hidden />}
          placeholder={t("sessions.search")}
          aria-label={t("sessions.search")}
          maxLength={MOST_SEARCHED}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      </div>
      <nav className={css.list} aria-label={t("sessions.list")}>
        {query.isError && (
          <ErrorView error={asApiError(query.error)} onRetry={() => void query.refetch()} compact />
        )}
        {query.isPending && (
          <Loader size="sm" m="md" aria-label={t("common.loading")} role="status" />
        )}
        {query.isSuccess && shown.length === 0 && (
          <p className={css.empty} role="status">
            {t(emptyText(wanted, query.hasNextPage))}
          </p>
        )}
        {byAge(shown, new Date()).map(([age, sessions]) => (
          <section key={age}>
            <h2 className={css.age}>{t(`sessions.age.${age}`)}</h2>
            <ul className={css.entries}>
              {sessions.map((session) => (
                <Entry
                  key={session.id}
                  session={session}
                  words={wanted}
                  hits={hits.get(session.id) ?? []}
                />
              ))}
            </ul>
          </section>
        ))}
        {query.hasNextPage && (
          <Button
            variant="subtle"
            color="gray"
            size="xs"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {t(wanted === "" ? "common.more" : "sessions.search_on")}
          </Button>
        )}
      </nav>
    </div>
  );
}

function emptyText(wanted: string, goesOn: boolean): TextKey {
  if (wanted === "") return "sessions.empty";
  return goesOn ? "sessions.no_match_yet" : "sessions.no_match";
}

function hitsOf(all: readonly SessionHit[]): ReadonlyMap<string, readonly SessionHit[]> {
  const hits = new Map<string, SessionHit[]>();
  for (const hit of all) hits.set(hit.session_id, [...(hits.get(hit.session_id) ?? []), hit]);
  return hits;
}

function Entry(props: { session: SessionView; words: string; hits: readonly SessionHit[] }) {
  const { session, words, hits } = props;
  const { t } = useTexts();
  const [editing, setEditing] = useState(false);
  const waits = useInbox().some((entry) => entry.session_id === session.id);
  // What is on the branch that is shown can be gone to at once.
  const first = hits.find((hit) => hit.on_branch) ?? hits[0];
  if (editing) return <RenameForm session={session} onDone={() => setEditing(false)} />;
  return (
    <li className={css.entry}>
      <NavLink
        to={{
          pathname: `/chat/${session.id}`,
          hash: first === undefined ? "" : `#${first.message_id}`,
        }}
        className={css.link ?? ""}
      >
        <span className={`${css.title} foreign`}>
          {waits && <span className={css.dot} role="img" aria-label={t("sessions.waits")} />}
          <Marked text={session.title} words={words} />
        </span>
        {hits.map((hit) => (
          <span key={hit.message_id} className={`${css.hit} foreign`}>
            {!hit.on_branch && (
              <span className={css.branch}>
                <GitBranch size={12} aria-hidden /> {t("sessions.other_branch")}
              </span>
            )}
            <Marked text={hit.excerpt} words={words} />
          </span>
        ))}
      </NavLink>
      <ActionIcon
        className={css.rename}
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={t("sessions.rename", { title: session.title })}
        onClick={() => setEditing(true)}
      >
        <Pencil size={14} aria-hidden />
      </ActionIcon>
    </li>
  );
}

/** Words of a search stand out where they are found. */
function Marked({ text, words }: { text: string; words: string }) {
  return splitAt(visible(text), words).map((part, index) =>
    part.isFound ? (
      <mark key={index} className={css.mark}>
        {part.text}
      </mark>
    ) : (
      part.text
    ),
  );
}

function RenameForm({ session, onDone }: { session: SessionView; onDone: () => void }) {
  const { t } = useTexts();
  const rename = useRename();
  const [title, setTitle] = useState(session.title);

  function submit(event: FormEvent) {
    event.preventDefault();
    const wanted = title.trim();
    if (wanted === "" || wanted === session.title) return onDone();
    rename.mutate({ id: session.id, title: wanted }, { onSuccess: onDone, onError: notifyError });
  }

  return (
    <li>
      <form onSubmit={submit}>
        <TextInput
          size="xs"
          aria-label={t("sessions.title")}
          value={title}
          maxLength={200}
          disabled={rename.isPending}
          autoFocus
          onChange={(event) => setTitle(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onDone();
          }}
          onBlur={submit}
        />
      </form>
    </li>
  );
}
