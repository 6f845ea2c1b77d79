/** One proposal: what it would change, where it comes from, its proof, and the decision. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ApiError, api, data } from "../../../api/client";
import { useTexts, useTextsOf } from "../../../i18n";
import { proposals } from "../../../i18n/texts/admin/proposals";
import { asText } from "../../../renderers/data";
import { useNow } from "../../../shared/useNow";
import { visible } from "../../../shared/visible";
import { ErrorView } from "../../../shell/ErrorView";
import { AskFirst } from "../../parts/AskFirst";
import { Facts, Foreign, Id, Pill, When } from "../../parts/Bits";
import { Loaded, Section } from "../../parts/Page";
import css from "../../parts/parts.module.css";
import { RuleName } from "../builder/RuleName";
import { ScopeName } from "../builder/ScopeName";
import { conditionsInWords, definitionOf, VERDICT_TONE } from "../ruleWords";
import { ProofView } from "./ProofView";
import own from "./proposals.module.css";
import {
  endOf,
  furtherConditions,
  type Proposal,
  STATE_TONE,
  titleParts,
  useDay,
} from "./proposalWords";

interface Ends {
  onDecided: (proposal: Proposal) => void;
  /** The service refused the decision: the proposal is no longer what was shown. */
  onRefused: (id: string) => void;
}

export function ProposalCard({ id, ...ends }: { id: string } & Ends) {
  const query = useQuery({
    queryKey: ["admin", "proposal", id],
    queryFn: () =>
      data(
        api.GET("/api/v1/admin/rule-proposals/{proposal_id}", {
          params: { path: { proposal_id: id } },
        }),
      ),
  });
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  /** A refusal is shown with the new state, not in a dialog above the old one. */
  const decide = async (work: () => Promise<Proposal>) => {
    try {
      const decided = await work();
      setRefusal(null);
      await query.refetch();
      ends.onDecided(decided);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      ends.onRefused(id);
      await query.refetch();
      setRefusal(error);
    }
  };
  return (
    <Loaded query={query}>
      {(proposal) => (
        <Section
          title={<Headline proposal={proposal} />}
          lead={<Said>{proposal.summary}</Said>}
          actions={<Decisions proposal={proposal} decide={decide} />}
        >
          {(refusal !== null || proposal.state === "stale") && (
            <div className={own.notes}>
              {refusal !== null && <ErrorView error={refusal} compact />}
              {proposal.state === "stale" && (
                <Withdrawn problems={refusal === null ? proposal.proof.problems : []} />
              )}
            </div>
          )}
          <Origin proposal={proposal} />
          <Rule proposal={proposal} />
          <ProofView kind={proposal.kind} proof={proposal.proof} at={proposal.proven_at} />
        </Section>
      )}
    </Loaded>
  );
}

/** The service's own sentence, which is English. */
function Said({ children }: { children: string }) {
  return (
    <span className="foreign" lang="en">
      {visible(children)}
    </span>
  );
}

function Headline({ proposal }: { proposal: Proposal }) {
  const { language } = useTexts();
  const p = useTextsOf(proposals);
  const title =
    language === "zh"
      ? p(`title.${proposal.kind}`, { covers: `\`${proposal.covers}\`` })
      : proposal.title;
  const [before, calls, after] = titleParts(title, proposal.covers);
  return (
    <span className={`${own.title} foreign`}>
      {visible(before)}
      {calls !== "" && <code>{visible(calls)}</code>}
      {visible(after)}
    </span>
  );
}

interface DecisionsProps {
  proposal: Proposal;
  decide: (work: () => Promise<Proposal>) => Promise<void>;
}

function Decisions({ proposal, decide }: DecisionsProps) {
  const p = useTextsOf(proposals);
  if (proposal.state !== "open") {
    return <Pill tone={STATE_TONE[proposal.state]}>{p(`state.${proposal.state}`)}</Pill>;
  }
  const params = { path: { proposal_id: proposal.id } };
  const done = () => undefined;
  return (
    <>
      <AskFirst
        label={p("accept.do")}
        about={proposal.covers}
        title={p("accept.title")}
        what={<Effect proposal={proposal} />}
        isSafe
        act={() =>
          decide(() =>
            data(api.POST("/api/v1/admin/rule-proposals/{proposal_id}/accept", { params })),
          )
        }
        onDone={done}
      />
      <AskFirst
        label={p("dismiss.do")}
        about={proposal.covers}
        title={p("dismiss.title")}
        what={p("dismiss.what")}
        act={() =>
          decide(() =>
            data(api.POST("/api/v1/admin/rule-proposals/{proposal_id}/dismiss", { params })),
          )
        }
        onDone={done}
      />
    </>
  );
}

/** What accepting changes, for whom and until when. */
function Effect({ proposal }: { proposal: Proposal }) {
  const p = useTextsOf(proposals);
  const day = useDay();
  const definition = definitionOf(proposal);
  const end = endOf(definition, proposal.proven_at, useNow(true));
  const paths = definition.match?.paths ?? [];
  return (
    <>
      {p(`accept.${proposal.kind}`)}
      <span className={own.asked}>
        <code>{visible(proposal.covers)}</code>
      </span>
      <span className={own.asked}>
        {p("accept.scope")} <ScopeName definition={definition} />
      </span>
      {paths.length > 0 && (
        <span className={own.asked}>{p("accept.paths", { paths: visible(paths.join(", ")) })}</span>
      )}
      {proposal.kind !== "remove" && (
        <span className={own.asked}>
          {end === null ? p("accept.forever") : p("accept.until", { date: day(end) })}
        </span>
      )}
      <span className={css.under}>{p("accept.proof")}</span>
    </>
  );
}

/** That the service took the proposal back, and why. */
function Withdrawn({ problems }: { problems: readonly string[] }) {
  const p = useTextsOf(proposals);
  return (
    <div className={css.note} data-tone="warn">
      {p("stale.what")}
      {problems.length > 0 && (
        <ul className={own.problems}>
          {problems.map((problem) => (
            <li key={problem}>
              <Said>{problem}</Said>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Origin({ proposal }: { proposal: Proposal }) {
  const p = useTextsOf(proposals);
  const asked = proposal.requested_by;
  const facts: [string, ReactNode][] = [[p("why"), <Said key="why">{proposal.why}</Said>]];
  if (asked === null) {
    facts.push([p("requested.by"), p("requested.none")]);
  } else {
    facts.push([
      p("requested.by"),
      <Foreign key="agent">
        {p("requested.agent", { name: asText(asked.agent_id ?? "default") })}
      </Foreign>,
    ]);
    facts.push([p("requested.call"), <Id key="call" value={asText(asked.operation_id)} />]);
  }
  facts.push([p("created"), <When key="created" at={proposal.created_at} />]);
  if (proposal.decided_by !== null) {
    facts.push([p("decided.by"), <Foreign key="by">{proposal.decided_by}</Foreign>]);
    facts.push([p("decided.at"), <When key="at" at={proposal.decided_at} />]);
  }
  if (proposal.rule_id !== null) {
    const name = p(proposal.kind === "remove" ? "rule.removed" : "rule");
    facts.push([name, <RuleName key="rule" id={proposal.rule_id} />]);
  }
  return (
    <>
      <Facts facts={facts} />
      {proposal.reason !== "" && (
        <blockquote className={own.reason}>
          <span className={css.under}>{p("requested.reason")}</span>
          <Foreign>{proposal.reason}</Foreign>
          <span className={css.under}>{p("requested.untrusted")}</span>
        </blockquote>
      )}
    </>
  );
}

function Rule({ proposal }: { proposal: Proposal }) {
  const { t } = useTexts();
  const p = useTextsOf(proposals);
  const day = useDay();
  // Only a new rule lasts from its acceptance; one to remove ends as it is stored.
  const isNew = proposal.state === "open" && proposal.kind !== "remove";
  const now = useNow(isNew);
  const definition = definitionOf(proposal);
  const { argv, paths } = definition.match ?? {};
  const further = furtherConditions(definition);
  const end = endOf(definition, proposal.proven_at, now, isNew);
  const facts: [string, ReactNode][] = [
    [
      p("rule.decision"),
      <Pill key="decision" tone={VERDICT_TONE[definition.decision] ?? "quiet"}>
        {t(`verdict.${definition.decision}`)}
      </Pill>,
    ],
    [
      p("rule.tool"),
      <Foreign key="tool" mono>
        {definition.tool}
      </Foreign>,
    ],
  ];
  if (argv != null) {
    const words = conditionsInWords({ ...definition, match: { argv } });
    facts.push([
      p("rule.command"),
      <Foreign key="argv" mono>
        {words}
      </Foreign>,
    ]);
  }
  if (paths != null) {
    facts.push([
      p("rule.paths"),
      <Foreign key="paths" mono>
        {paths.join(", ")}
      </Foreign>,
    ]);
  }
  facts.push([p("rule.scope"), <ScopeName key="scope" definition={definition} />]);
  if (further !== "") {
    facts.push([
      p("rule.further"),
      <Foreign key="more" mono>
        {further}
      </Foreign>,
    ]);
  } else if (argv == null && paths == null) {
    facts.push([p("rule.further"), p("rule.every")]);
  }
  facts.push([p("rule.ends"), end === null ? p("rule.forever") : day(end)]);
  return (
    <>
      <h3 className={own.part}>{p(proposal.kind === "remove" ? "rule.removed" : "rule")}</h3>
      <div className={css.stack}>
        <Facts facts={facts} />
        <details>
          <summary>{p("rule.json")}</summary>
          <pre className={`${css.block} foreign`}>{visible(asText(proposal.definition))}</pre>
        </details>
      </div>
    </>
  );
}
