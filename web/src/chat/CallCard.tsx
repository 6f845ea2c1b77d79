/** A tool call: one line that tells what matters, and everything behind it. */
import { Anchor, Badge, Loader, Progress, UnstyledButton } from "@mantine/core";
import {
  ChevronDown,
  ChevronRight,
  Database,
  FileText,
  Globe,
  type LucideIcon,
  Search,
  Terminal,
  Users,
  Wrench,
} from "lucide-react";
import { memo, useId, useState } from "react";
import { Link } from "react-router";
import { artifactUrl } from "../api/client";
import type { Call } from "../events/model";
import { type TextKey, useTexts } from "../i18n";
import { fieldProblems } from "../i18n/fieldWords";
import { renderers } from "../renderers/builtin";
import { bytes, contentText, isObject } from "../renderers/data";
import { JsonTree } from "../renderers/JsonTree";
import { Refusals } from "../renderers/Network";
import { readNetwork, refusalsOf } from "../renderers/networkUse";
import { Output } from "../renderers/Output";
import { visible } from "../shared/visible";
import { FieldList } from "../shell/FieldList";
import { useIdentity } from "../shell/identity";
import { Said } from "../shell/Said";
import { ApprovedBy } from "./ApprovedBy";
import css from "./CallCard.module.css";
import { isOver, labelOf, standingOf } from "./callStatus";
import { useChosen } from "./cardMemory";
import { Duration } from "./Duration";
import { Subagents } from "./Subagents";
import { useSession } from "./useSession";

const KIND_ICON: Readonly<Record<string, LucideIcon>> = {
  execute: Terminal,
  read: FileText,
  edit: FileText,
  write: FileText,
  delete: FileText,
  search: Search,
  fetch: Globe,
  data: Database,
  delegate: Users,
};

const ROUTES: Readonly<Record<string, TextKey>> = {
  main: "route.main",
  "worker-local": "route.worker-local",
  "main-process-proxy": "route.main-process-proxy",
  disabled: "route.disabled",
};

interface Props {
  id: string;
  /** It stands in an opened fold. */
  folded?: boolean;
}

export const CallCard = memo(function CallCard({ id, folded = false }: Props) {
  const call = useSession((session) => session.calls.get(id));
  return call === undefined ? null : <Card call={call} folded={folded} />;
});

function Card({ call, folded }: { call: Call; folded: boolean }) {
  const { t } = useTexts();
  const panel = useId();
  const over = isOver(call);
  const failed = over && !["success", "skipped"].includes(call.status);
  const refused = refusalsOf(call.raw);
  const hasPicture = call.raw?.type === "image";
  const suggested = call.status === "running" || failed || call.subagents.length > 0 || hasPicture;
  const [chosen, choose] = useChosen(call.id);
  const open = chosen ?? suggested;
  const standing = standingOf(call.status);
  const Kind = call.subagents.length > 0 ? Users : (KIND_ICON[call.kind] ?? Wrench);
  const Arrow = open ? ChevronDown : ChevronRight;
  const drawn = over ? renderers.choose(call) : null;

  return (
    <article
      className={css.card}
      data-tone={standing.tone}
      data-status={call.status}
      data-call={call.id}
    >
      <UnstyledButton
        className={css.head}
        aria-expanded={open}
        aria-controls={panel}
        onClick={() => choose(!open, !folded)}
      >
        <Kind size={16} aria-hidden className={css.kind} />
        <span className={css.line}>
          <span className={`${css.title} foreign`} dir="auto">
            {visible(call.title || call.name)}
          </span>
          {drawn?.summary != null && !open && (
            <span className={`${css.summary} foreign`}>{drawn.summary}</span>
          )}
        </span>
        {call.route !== "main" && (
          <Badge size="sm" variant="default" tt="none" fw={500} className={css.route}>
            {t(ROUTES[call.route] ?? "route.unknown")}
          </Badge>
        )}
        <span className={css.status} data-tone={standing.tone}>
          {standing.icon === null ? (
            <Loader size={13} color="currentColor" aria-hidden />
          ) : (
            <standing.icon size={15} aria-hidden />
          )}
          <span className={call.status === "success" ? "hidden-visually" : undefined}>
            {t(labelOf(call))}
          </span>
        </span>
        <Duration call={call} />
        <Arrow size={15} aria-hidden className={css.arrow} />
      </UnstyledButton>
      <ApprovedBy call={call} policed />
      {over && !open && refused.length > 0 && (
        <div className={css.refused}>
          <Refusals rows={refused} />
        </div>
      )}
      {call.progress !== null && !over && <Reported call={call} />}
      <div id={panel} hidden={!open}>
        {open && <Details call={call} body={drawn?.body ?? null} />}
      </div>
    </article>
  );
}

function Reported({ call }: { call: Call }) {
  const { t } = useTexts();
  const { progress } = call;
  if (progress === null) return null;
  return (
    <div className={css.progress}>
      <span className="foreign">
        {visible([progress.stage, progress.message].filter(Boolean).join(": "))}
      </span>
      {progress.percent !== null && (
        <Progress
          value={progress.percent}
          size="sm"
          aria-label={t("call.progress")}
          className={css.meter}
        />
      )}
    </div>
  );
}

function Details({ call, body }: { call: Call; body: React.ReactNode }) {
  const { t, language } = useTexts();
  const over = isOver(call);
  // Files are shown as they are; a command's words stand in the title already.
  const [argsOpen, setArgsOpen] = useState(false);
  return (
    <div className={css.details}>
      <ApprovedBy call={call} policed={false} />
      {call.error !== null && (
        <div className={css.error}>
          <Said {...call.error} otherwise={call.status} tool={call.name} />{" "}
          <code className={css.code}>{call.error.code}</code>
          <FieldList
            problems={fieldProblems(call.error.details ?? {})}
            sentence={call.error.message}
          />
        </div>
      )}
      {call.duplicateOf !== null && <p className={css.hint}>{t("call.duplicate")}</p>}
      {call.status === "interrupted" && <p className={css.hint}>{t("call.interrupted.hint")}</p>}
      {!over && call.output.length > 0 && (
        <Output
          text={call.output.map((piece) => (piece.gap ? `…\n${piece.text}` : piece.text)).join("")}
          label={t("output.live")}
          ansi
          live
        />
      )}
      {over && !saidAlready(call) && body}
      {call.artifactId !== null && (
        <Anchor href={artifactUrl(call.artifactId)} size="sm" download>
          {t("output.whole", { size: bytes(call.bytes, language) })}
        </Anchor>
      )}
      <Subagents call={call} Card={CallCard} />
      <UnstyledButton
        className={css.fold}
        aria-expanded={argsOpen}
        onClick={() => setArgsOpen(!argsOpen)}
      >
        {argsOpen ? <ChevronDown size={13} aria-hidden /> : <ChevronRight size={13} aria-hidden />}
        {t("call.details")}
      </UnstyledButton>
      {argsOpen && <Facts call={call} />}
    </div>
  );
}

/** Whether the result tells nothing that is not above it, or in the tree of sub-agents below. */
function saidAlready(call: Call): boolean {
  if (call.subagents.length > 0) return call.raw?.type === "json";
  const told = call.error?.message.trim();
  return call.raw === null && told !== undefined && contentText(call.content).trim() === told;
}

/** Arguments, times and places. */
function Facts({ call }: { call: Call }) {
  const { t, language } = useTexts();
  const { may } = useIdentity();
  const started = new Date(call.startedAt).toLocaleTimeString(language);
  return (
    <div className={css.facts}>
      <dl className={css.list}>
        <dt>{t("call.tool")}</dt>
        <dd className="mono">{visible(call.name)}</dd>
        <dt>{t("call.route")}</dt>
        <dd>{t(ROUTES[call.route] ?? "route.unknown")}</dd>
        <dt>{t("call.started")}</dt>
        <dd>{started}</dd>
        {call.cached && (
          <>
            <dt>{t("call.cached")}</dt>
            <dd>{t("common.yes")}</dd>
          </>
        )}
      </dl>
      {may("audit:read") && call.raw !== null && readNetwork(call.raw.data).length > 0 && (
        <Link
          to={`/admin/connections?operation_id=${encodeURIComponent(call.id)}`}
          className={css.rule ?? ""}
        >
          {t("network.all")}
        </Link>
      )}
      {may("admin") && isOver(call) && (
        <Link
          to={`/admin/rules/new?call=${encodeURIComponent(call.id)}`}
          className={css.rule ?? ""}
        >
          {t("rules.make")}
        </Link>
      )}
      {isObject(call.args) && Object.keys(call.args).length > 0 && <JsonTree value={call.args} />}
      {call.stages.length > 0 && (
        <ol className={css.stages} aria-label={t("call.stages")}>
          {call.stages.map((stage, index) => (
            <li key={index} data-status={stage.status}>
              <time dateTime={stage.at}>{new Date(stage.at).toLocaleTimeString(language)}</time>
              <span className="foreign">
                {visible(stage.stage)}
                {stage.message !== null && `: ${visible(stage.message)}`}
              </span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
