/** One request on a page of its own: what a notification opens on a phone. */
import { Loader } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, Navigate, useSearchParams } from "react-router";
import { type ApiError, api, data, type Schemas } from "../api/client";
import { answer } from "../chat/answering";
import { useMayAnswer } from "../chat/approving";
import { ConfirmationCard } from "../chat/ConfirmationCard";
import { requestOf } from "../chat/storedRequest";
import { asApiError } from "../events/sessionStore";
import { useTexts, useTextsOf } from "../i18n";
import { approvals } from "../i18n/texts/approvals";
import { visible } from "../shared/visible";
import { Brand } from "../shell/Brand";
import { ConnectionBanner } from "../shell/ConnectionBanner";
import { ErrorView } from "../shell/ErrorView";
import { useConnection } from "../shell/identity";
import { useInbox } from "../shell/inbox";
import { StatusPage } from "../shell/StatusPage";
import css from "./ApprovalPage.module.css";
import { takeIntent } from "./intent";

type Detail = Schemas["ConfirmationDetail"];

// The feed of the inbox has what is below it asked again with each change.
const keyOf = (id: string) => ["admin", "confirmations", "one", id];

export default function ApprovalPage({ id }: { id: string }) {
  const { t } = useTexts();
  const part = useTextsOf(approvals);
  const others = useInbox().filter((entry) => entry.kind === "confirmation" && entry.id !== id);
  const query = useQuery<Detail, ApiError>({
    queryKey: keyOf(id),
    queryFn: () =>
      data(
        api.GET("/api/v1/confirmations/{confirmation_id}", {
          params: { path: { confirmation_id: id } },
        }),
      ),
  });
  return (
    <div className={css.frame}>
      <header className={css.bar}>
        <Brand />
        <Link className={css.inbox} to="/admin/inbox">
          {part("approval.inbox")}
        </Link>
      </header>
      <main className={css.main} id="content">
        <ConnectionBanner />
        {query.isPending && <Loader m="xl" aria-label={t("common.loading")} role="status" />}
        {query.isError && (
          <Missing id={id} error={query.error} again={() => void query.refetch()} />
        )}
        {query.data !== undefined && <Request detail={query.data} />}
        {others.length > 0 && (
          <p className={css.more}>
            <Link to="/admin/inbox">{part("approval.more", { count: others.length })}</Link>
          </p>
        )}
      </main>
    </div>
  );
}

interface MissingProps {
  id: string;
  error: ApiError;
  again: () => void;
}

/** A question has no page of its own: it is answered in its session, which shows what led to it. */
function Missing({ id, error, again }: MissingProps) {
  const part = useTextsOf(approvals);
  const question = useInbox().find((entry) => entry.id === id && entry.kind === "question");
  if (question !== undefined) return <Navigate to={`/chat/${question.session_id}`} replace />;
  if (error.status !== 404) return <ErrorView error={error} onRetry={again} />;
  return <StatusPage title={part("approval.not_found")} lead={part("approval.not_found.lead")} />;
}

function Request({ detail }: { detail: Detail }) {
  const part = useTextsOf(approvals);
  const confirmation = useMemo(() => requestOf(detail), [detail]);
  const mayAnswer = useMayAnswer(confirmation.request);
  const { declining, error } = useDeclineIntent(detail);
  if (detail.state !== "pending") return <Outcome detail={detail} />;
  if (declining) {
    return (
      <h1 className={css.declining} role="status">
        {part("approval.declining")}
      </h1>
    );
  }
  return (
    <div className={css.card}>
      <h1 className="hidden-visually">{part("approval.title")}</h1>
      {error !== null && <ErrorView error={error} compact />}
      <ConfirmationCard
        confirmation={confirmation}
        position={0}
        count={1}
        mayAnswer={mayAnswer}
        onMove={() => undefined}
      />
    </div>
  );
}

function Outcome({ detail }: { detail: Detail }) {
  const { t } = useTexts();
  const part = useTextsOf(approvals);
  const outcome = t(`inbox.state.${detail.state}`);
  const answered = detail.state === "approved" || detail.state === "declined";
  return (
    <section className={css.outcome} role="status" data-state={detail.state}>
      <h1>
        {answered && detail.by != null
          ? part("approval.answered", { outcome, user: visible(detail.by) })
          : outcome}
      </h1>
      <p className="foreign mono">{visible(titleOf(detail))}</p>
      {detail.message != null && detail.message !== "" && (
        <p className="foreign">{visible(detail.message)}</p>
      )}
    </section>
  );
}

const titleOf = ({ request, tool_name }: Detail): string =>
  typeof request.title === "string" ? request.title : tool_name;

/** Declines where a person has already pressed "Decline" in the notification, and nowhere else. */
function useDeclineIntent(detail: Detail) {
  const connection = useConnection();
  const queries = useQueryClient();
  const [params, setParams] = useSearchParams();
  const wanted = params.get("intent") === "decline";
  const taken = useRef(false);
  const [declining, setDeclining] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);

  useEffect(() => {
    if (!wanted || taken.current) return;
    taken.current = true;
    const page = new URL(location.pathname, location.origin).href;
    setParams({}, { replace: true });
    void decline();

    async function decline() {
      if (!(await takeIntent(page)) || detail.state !== "pending") return;
      const { request } = requestOf(detail);
      const option = request.options.find((one) => one.kind === "deny");
      if (option === undefined) return;
      setDeclining(true);
      try {
        await answer(connection, request, { optionId: option.option_id });
        await queries.invalidateQueries({ queryKey: keyOf(detail.confirmation_id) });
      } catch (failure) {
        setError(asApiError(failure));
      } finally {
        setDeclining(false);
      }
    }
  }, [wanted, setParams, detail, connection, queries]);

  return { declining, error };
}
