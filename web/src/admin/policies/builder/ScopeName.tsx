/** For whom a rule holds, with a link to the agent, project or session. */
import { Link } from "react-router";
import { useTextsOf } from "../../../i18n";
import { builder } from "../../../i18n/texts/builder";
import { visible } from "../../../shared/visible";
import css from "../../parts/parts.module.css";
import type { Definition } from "../ruleWords";
import { scopeOf } from "./formModel";

const PLACES = {
  agent: (id: string) => `/admin/agents/agent/${encodeURIComponent(id)}`,
  project: () => "/admin/system",
  session: (id: string) => `/chat/${encodeURIComponent(id)}`,
};

export function ScopeName({ definition }: { definition: Definition }) {
  const own = useTextsOf(builder);
  const { kind, id } = scopeOf(definition);
  if (kind === "global") return own("scope.global");
  // Calls that name no agent have no page of their own.
  if (kind === "agent" && id === "default") return `${own("scope.in.agent")} ${id}`;
  return (
    <>
      {own(`scope.in.${kind}`)}{" "}
      <Link className={`${css.link} foreign`} to={PLACES[kind](id)}>
        {visible(kind === "session" && id.length > 16 ? `…${id.slice(-8)}` : id)}
      </Link>
    </>
  );
}

/** When a rule ends, in days, with the moment. */
export function Expiry({ at, now }: { at: unknown; now: number }) {
  const own = useTextsOf(builder);
  const moment = typeof at === "string" ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(moment)) return <span className={css.quiet}>{own("expiry.never")}</span>;
  const days = Math.floor((moment - now) / 86_400_000);
  const words =
    moment <= now
      ? own("expiry.over")
      : days === 0
        ? own("expiry.today")
        : own("expiry.left", { count: days });
  return (
    <time dateTime={String(at)} title={new Date(moment).toLocaleString()}>
      {words}
    </time>
  );
}
