/** The sessions at the side: found, renamed, begun. */
import { ActionIcon, Button, Loader, TextInput } from "@mantine/core";
import { Pencil, Plus, Search } from "lucide-react";
import { type FormEvent, useMemo, useState } from "react";
import { Link, NavLink } from "react-router";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { ErrorView } from "../shell/ErrorView";
import { notifyError } from "../shell/notify";
import css from "./SessionList.module.css";
import { byAge, type SessionView, useRename, useSessions } from "./sessions";

export function SessionList() {
  const { t } = useTexts();
  const [search, setSearch] = useState("");
  const query = useSessions();
  const all = useMemo(() => query.data?.pages.flatMap((page) => page.sessions) ?? [], [query.data]);
  const wanted = search.trim().toLowerCase();
  const shown = wanted === "" ? all : all.filter((one) => one.title.toLowerCase().includes(wanted));

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
          <p className={css.empty}>{t(wanted === "" ? "sessions.empty" : "sessions.no_match")}</p>
        )}
        {byAge(shown, new Date()).map(([age, sessions]) => (
          <section key={age}>
            <h2 className={css.age}>{t(`sessions.age.${age}`)}</h2>
            <ul className={css.entries}>
              {sessions.map((session) => (
                <Entry key={session.id} session={session} />
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
            {t("common.more")}
          </Button>
        )}
      </nav>
    </div>
  );
}

function Entry({ session }: { session: SessionView }) {
  const { t } = useTexts();
  const [editing, setEditing] = useState(false);
  if (editing) return <RenameForm session={session} onDone={() => setEditing(false)} />;
  return (
    <li className={css.entry}>
      <NavLink to={`/chat/${session.id}`} className={css.link ?? ""}>
        <span className={`${css.title} foreign`}>{session.title}</span>
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
