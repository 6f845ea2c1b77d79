/**
 * A question to a person before a call may run.
 *
 * It shows exactly what would run. No answer is preselected, nothing here takes the focus by
 * itself, and for a moment after it has appeared nothing can be hit by accident.
 */
import { ActionIcon, Button, Textarea, TextInput } from "@mantine/core";
import { ChevronLeft, ChevronRight, Folder, ShieldQuestion } from "lucide-react";
import { useCallback, useEffect, useId, useRef, useState } from "react";
import type { ApiError } from "../api/client";
import type { ConfirmationRequest } from "../events/messages";
import type { Confirmation } from "../events/model";
import { asApiError } from "../events/sessionStore";
import { TEXTS, type TextKey, type Translate, useTexts } from "../i18n";
import { coverage } from "../i18n/coverage";
import { reasonSaid } from "../i18n/reasons";
import { asText } from "../renderers/data";
import { JsonTree } from "../renderers/JsonTree";
import { useNow } from "../shared/useNow";
import { visible } from "../shared/visible";
import { ErrorView } from "../shell/ErrorView";
import { useConnection, useIdentity } from "../shell/identity";
import { Lines } from "../shell/Said";
import { type Limits, useLimits } from "./ApprovalLimits";
import { ApprovalCount, Approvers, Standing } from "./Approvers";
import { type Answer, answer, grouped, type Option } from "./answering";
import { ApproveBadge, DeclineBadge, otherAnswer, useAnswerKeys } from "./answerKeys";
import { hasApproved } from "./approving";
import { Targets } from "./ConfirmationTargets";
import css from "./Dock.module.css";
import { duration } from "./Duration";
import { type Equal, EqualRequests, useEqualRequests } from "./EqualRequests";

/** How long nothing can be answered after the question has appeared. */
const CALM_MS = 500;

interface Props {
  confirmation: Confirmation;
  /** The arguments of the call, where they are known. */
  args?: unknown;
  position: number;
  count: number;
  /** Null while the service has not said so yet. */
  mayAnswer: boolean | null;
  onMove: (by: number) => void;
}

export function ConfirmationCard(props: Props) {
  const { confirmation, args, position, count, mayAnswer, onMove } = props;
  const { request } = confirmation;
  const { t } = useTexts();
  const heading = useId();
  const connection = useConnection();
  const { me, may } = useIdentity();
  const policed = request.approval != null;
  const approved = hasApproved(confirmation, me?.user_id);
  const [calm, setCalm] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [reason, setReason] = useState("");
  const [edited, setEdited] = useState<string | null>(null);
  const locked = useRef(false);
  const equal = useEqualRequests(request, count > 1 && mayAnswer === true);
  const [together, setTogether] = useState<readonly Equal[]>([]);

  useEffect(() => {
    const timer = setTimeout(() => setCalm(true), CALM_MS);
    return () => clearTimeout(timer);
  }, []);

  const send = useCallback(
    async (chosen: Answer) => {
      // The state comes with the next drawing; two keys can come before it.
      if (locked.current) return;
      locked.current = true;
      setBusy(true);
      setError(null);
      try {
        const { outcome } = await answer(connection, request, chosen);
        // The approval counts, and further people must approve: it can still be declined.
        if (outcome === "recorded") {
          locked.current = false;
          setBusy(false);
        }
      } catch (failure) {
        setError(asApiError(failure));
        locked.current = false;
        setBusy(false);
      }
    },
    [connection, request],
  );

  const ready = calm && mayAnswer === true && !busy;
  const choose = useCallback(
    (option: Option, limits: Limits = {}) => {
      if (approved && option.kind === "allow") return;
      const covers = option.kind === "deny" || option.option_id === "approve_once";
      void send({
        ...limits,
        optionId: option.option_id,
        ...(covers ? { also: digestsOf(together) } : {}),
        ...(option.kind === "deny" ? { message: reason } : {}),
      });
    },
    [send, reason, approved, together],
  );

  const offered = request.options.filter(
    ({ kind, requires_scope: scope }) =>
      (kind === "deny" || !approved) && (scope == null || may(scope)),
  );
  const { once, lasting } = grouped(offered);
  const approval = once.find((option) => option.option_id === "approve_once");
  const denial = once.find((option) => option.kind === "deny");
  const parsed = edited === null ? null : parseObject(edited);
  const approve = useCallback(() => {
    if (approved) return;
    if (edited === null) {
      if (approval !== undefined) choose(approval);
    } else if (parsed !== null) void send({ optionId: "approve_once", editedArgs: parsed });
  }, [approved, edited, parsed, approval, choose, send]);
  const decline = useCallback(() => {
    if (denial !== undefined) choose(denial);
  }, [denial, choose]);
  const approvable = !approved && (edited === null ? approval !== undefined : parsed !== null);
  const reaches = useAnswerKeys({
    approve: ready && approvable ? approve : null,
    decline: ready && edited === null ? decline : null,
  });
  return (
    <section className={css.card} aria-labelledby={heading} data-risk={request.risk.level}>
      <header className={css.head}>
        <ShieldQuestion size={18} aria-hidden className={css.sign} />
        <h2 id={heading} className={css.title}>
          {t("confirm.title", { tool: visible(request.tool_name) })}
        </h2>
        <span className={css.risk}>{t(`risk.${request.risk.level}`)}</span>
        {policed && <ApprovalCount confirmation={confirmation} />}
        <Countdown until={request.expires_at ?? null} />
        {count > 1 && (
          <span className={css.batch}>
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={t("confirm.previous")}
              onClick={() => onMove(-1)}
            >
              <ChevronLeft size={16} aria-hidden />
            </ActionIcon>
            {t("confirm.position", { position: position + 1, count })}
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={t("confirm.next")}
              onClick={() => onMove(1)}
            >
              <ChevronRight size={16} aria-hidden />
            </ActionIcon>
          </span>
        )}
      </header>
      <div role="status" className="hidden-visually">
        {t("confirm.announce", { tool: request.tool_name, position: position + 1, count })}
      </div>
      <div className={css.body} tabIndex={0} role="group" aria-label={t("confirm.what")}>
        <Asker request={request} />
        <Subject request={request} />
        <Reasons request={request} />
        <Targets request={request} />
        {policed && <Approvers confirmation={confirmation} />}
      </div>
      {edited !== null && (
        <ArgumentEditor
          text={edited}
          isObject={parsed !== null}
          onChange={setEdited}
          busy={busy}
          badge={reaches ? <ApproveBadge /> : null}
          onCancel={() => setEdited(null)}
          onSubmit={approve}
        />
      )}
      {error !== null && <ErrorView error={error} compact />}
      {policed && <Standing confirmation={confirmation} mayAnswer={mayAnswer} />}
      {!policed && mayAnswer === false && <p className={css.hint}>{t("confirm.not_yours")}</p>}
      {mayAnswer !== false && edited === null && (
        <footer className={css.foot}>
          <TextInput
            size="xs"
            className={css.reason}
            aria-label={t("confirm.reason")}
            placeholder={t("confirm.reason")}
            maxLength={4000}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <EqualRequests equal={equal} chosen={together} disabled={!ready} onChange={setTogether} />
          <div className={css.choices}>
            {once.map((option) => (
              <Button
                key={option.option_id}
                size="sm"
                variant={option.kind === "deny" ? "default" : "filled"}
                disabled={!ready}
                {...(option.option_id === "approve_once" ? {} : otherAnswer)}
                onClick={() => choose(option)}
                rightSection={
                  option === denial ? (
                    <DeclineBadge />
                  ) : option === approval && reaches ? (
                    <ApproveBadge />
                  ) : null
                }
              >
                {together.length === 0
                  ? optionLabel(option, t)
                  : t(option.kind === "deny" ? "confirm.decline_all" : "confirm.approve_all", {
                      count: together.length + 1,
                    })}
              </Button>
            ))}
            {request.editable && !approved && together.length === 0 && may("tools:call") && (
              <Button
                size="sm"
                variant="subtle"
                color="gray"
                disabled={!ready}
                {...otherAnswer}
                onClick={() => setEdited(JSON.stringify(shownArgs(request, args), null, 2))}
              >
                {t("confirm.edit")}
              </Button>
            )}
          </div>
          {lasting.length > 0 && together.length === 0 && (
            <Lasting options={lasting} ready={ready} onChoose={choose} />
          )}
        </footer>
      )}
    </section>
  );
}

const digestsOf = (equal: readonly Equal[]): Record<string, string> =>
  Object.fromEntries(equal.map((one) => [one.confirmation_id, one.digest]));

function callerName(caller: string, t: Translate): string {
  const key = `caller.${caller}`;
  return key in TEXTS ? t(key as TextKey) : visible(caller);
}

/** The server's words in English; in Chinese ours, where we know the option. */
export function optionLabel(option: Option, t: Translate): string {
  const key = `option.${option.option_id}`;
  return key in TEXTS ? t(key as TextKey) : visible(option.label);
}

/** Minutes and seconds, as a clock shows them. */
function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const parts = [Math.floor((seconds % 3600) / 60), seconds % 60];
  const shown = (hours > 0 ? [hours, ...parts] : parts).map((part, index) =>
    index === 0 ? String(part) : String(part).padStart(2, "0"),
  );
  return shown.join(":");
}

function Countdown({ until }: { until: string | null }) {
  const { t } = useTexts();
  const now = useNow(until !== null);
  if (until === null) return null;
  const left = Math.max(0, Date.parse(until) - now);
  return (
    <span className={css.countdown} data-late={left < 60_000}>
      {t("confirm.left", { time: clock(left) })}
    </span>
  );
}

function Asker({ request }: { request: ConfirmationRequest }) {
  const { t } = useTexts();
  const by = request.requested_by;
  const name = by?.agent ?? by?.agent_id ?? request.agent_id;
  const inner = request.parent_tool_call_id != null;
  const parts = [
    name == null
      ? null
      : t(inner ? "confirm.by_subagent" : "confirm.by_agent", { name: visible(name) }),
    by?.user_id == null ? null : t("confirm.for_user", { user: visible(by.user_id) }),
    by == null ? null : t("confirm.caller", { caller: callerName(by.caller, t) }),
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : <p className={`${css.asker} foreign`}>{parts.join(" · ")}</p>;
}

function Subject({ request }: { request: ConfirmationRequest }) {
  const { t } = useTexts();
  const { subject } = request;
  const cwd = request.cwd ?? (subject.type === "command" ? subject.cwd : null);
  return (
    <div className={css.subject}>
      {subject.type === "command" ? (
        <pre className={`${css.command} foreign`} dir="ltr">
          <span className="hidden-visually">{t("confirm.command")}: </span>
          {visible(subject.command)}
        </pre>
      ) : (
        <JsonTree value={subject.args} />
      )}
      {cwd != null && cwd !== "" && (
        <p className={css.cwd}>
          <Folder size={13} aria-hidden />
          <span className="hidden-visually">{t("confirm.cwd")} </span>
          <span className="mono foreign">{visible(cwd)}</span>
        </p>
      )}
    </div>
  );
}

function Reasons({ request }: { request: ConfirmationRequest }) {
  const { t, language } = useTexts();
  const segments = (request.segments ?? []).filter((one) => (one.reasons ?? []).length > 0);
  const told = new Set(segments.flatMap((one) => (one.reasons ?? []).map((why) => why.why)));
  const rules = (request.risk.rules ?? []).filter((rule) => !told.has(rule.reason));
  if (segments.length === 0 && rules.length === 0) return null;
  return (
    <div className={css.why}>
      <h3>{t("confirm.why")}</h3>
      <ul>
        {segments.map((segment, index) => (
          <li key={index}>
            <code className="mono foreign">{visible(segment.text)}</code>
            {(segment.reasons ?? []).map((why) => (
              <span key={why.code} className={`${css.reasonText} foreign`}>
                {reasonSaid(language, why.code, visible(why.why))}
              </span>
            ))}
          </li>
        ))}
        {rules.map((rule) => (
          <li key={rule.rule_id + rule.reason}>
            <span className="foreign">
              {reasonSaid(language, rule.rule_id, visible(rule.reason))}
            </span>{" "}
            <code className={css.rule}>{visible(rule.rule_id)}</code>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface LastingProps {
  options: readonly Option[];
  ready: boolean;
  onChoose: (option: Option, limits: Limits) => void;
}

function Covered({ option }: { option: Option }) {
  const { t, language } = useTexts();
  if (option.covers == null) return null;
  const told = coverage(language, option.covers_kind, visible(option.covers));
  if (told.detail === null) return t("confirm.covers", { what: told.what });
  return <Lines {...told} />;
}

/** Approvals that outlive this call stand apart, folded, with what they would cover. */
function Lasting({ options, ready, onChoose }: LastingProps) {
  const { t, language } = useTexts();
  const [limits, fields] = useLimits();
  return (
    <details className={css.lasting}>
      <summary>{t("confirm.lasting")}</summary>
      {fields}
      <ul>
        {options.map((option) => (
          <li key={option.option_id}>
            <Button
              size="compact-sm"
              variant="default"
              disabled={!ready || limits === null}
              {...otherAnswer}
              onClick={() => limits !== null && onChoose(option, limits)}
            >
              {optionLabel(option, t)}
            </Button>
            <span className={`${css.reasonText} foreign`}>
              <Covered option={option} />{" "}
              {option.expires_in_s != null &&
                t("confirm.lives", { time: duration(option.expires_in_s * 1000, language) })}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface EditorProps {
  text: string;
  isObject: boolean;
  busy: boolean;
  badge: React.ReactNode;
  onChange: (text: string) => void;
  onCancel: () => void;
  onSubmit: () => void;
}

function ArgumentEditor(props: EditorProps) {
  const { text, isObject, busy, badge, onChange, onCancel, onSubmit } = props;
  const { t } = useTexts();
  return (
    <div className={css.editor}>
      <Textarea
        label={t("confirm.edit.label")}
        description={t("confirm.edit.help")}
        autosize
        minRows={3}
        maxRows={12}
        value={text}
        error={isObject ? undefined : t("form.not_json")}
        classNames={{ input: "mono" }}
        autoFocus
        spellCheck={false}
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
        }}
      />
      <div className={css.choices}>
        <Button size="sm" variant="default" disabled={busy} {...otherAnswer} onClick={onCancel}>
          {t("common.cancel")}
        </Button>
        <Button size="sm" disabled={!isObject || busy} rightSection={badge} onClick={onSubmit}>
          {t("confirm.edit.submit")}
        </Button>
      </div>
    </div>
  );
}

export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** What is edited: the arguments as they were shown, secrets masked. */
function shownArgs(request: ConfirmationRequest, args: unknown): unknown {
  if (typeof args === "object" && args !== null) return args;
  if (request.subject.type === "command") return { command: request.subject.command };
  return typeof request.subject.args === "object"
    ? request.subject.args
    : asText(request.subject.args);
}
