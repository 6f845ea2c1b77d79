/** What a proof shows: how past calls and the risk corpus are decided with the rule. */
import { Button } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../../api/client";
import { useTexts, useTextsOf } from "../../../i18n";
import { proposals } from "../../../i18n/texts/admin/proposals";
import { asText } from "../../../renderers/data";
import { visible } from "../../../shared/visible";
import { Figure, Foreign, Pill, When } from "../../parts/Bits";
import css from "../../parts/parts.module.css";
import { Table } from "../../parts/Table";
import { RuleName } from "../builder/RuleName";
import own from "./proposals.module.css";
import type { Proposal } from "./proposalWords";

type Proof = Schemas["ProofView"];
type Call = Schemas["ProvenCall"];

/** So many calls are shown at first. */
const FIRST = 5;

interface Props {
  kind: Proposal["kind"];
  proof: Proof;
  /** When it was computed. */
  at: string;
}

export function ProofView({ kind, proof, at }: Props) {
  const p = useTextsOf(proposals);
  const { language } = useTexts();
  const n = (value: number) => value.toLocaleString(language);
  return (
    <>
      <h3 className={own.part}>{p("proof")}</h3>
      <div className={css.figures}>
        {figuresOf(kind, proof).map(([name, value]) => (
          <Figure key={name} name={p(name)} value={n(value)} />
        ))}
        <Figure name={p("proof.unsure")} value={n(proof.unknowable + proof.not_judged)} />
        <Figure
          name={p("proof.corpus")}
          value={p("proof.of", {
            count: n(proof.corpus_changed_total),
            total: n(proof.corpus_judged),
          })}
        />
      </div>
      <p className={css.under}>
        {p("proof.lead", { judged: proof.judged, corpus: n(proof.corpus_judged) })} {p("proven")}{" "}
        <When at={at} />
      </p>
      {proof.unknowable + proof.not_judged > 0 && (
        <p className={css.under}>
          {p("proof.unsure.why", { unknowable: proof.unknowable, gone: proof.not_judged })}
        </p>
      )}
      {proof.declined_elsewhere > 0 && (
        <p className={css.under}>{p("proof.elsewhere", { count: proof.declined_elsewhere })}</p>
      )}
      {proof.overridden_by.length > 0 && <Overriding rules={proof.overridden_by} />}
      {proof.refused_total > 0 && (
        <Calls name={p("proof.refused")} total={proof.refused_total} calls={proof.refused} />
      )}
      {kind === "allow" && (
        <Calls
          name={p("proof.let_through")}
          total={proof.let_through_total}
          calls={proof.let_through}
        />
      )}
      {(kind === "deny" || proof.newly_denied > 0) && (
        <Calls
          name={p("proof.denied")}
          total={proof.newly_denied}
          calls={proof.newly_denied_calls}
        />
      )}
      {proof.corpus_changed.length > 0 && <Corpus changes={proof.corpus_changed} />}
    </>
  );
}

type FigureName = Extract<keyof typeof proposals, `proof.${string}`>;

function figuresOf(kind: Proposal["kind"], proof: Proof): [FigureName, number][] {
  if (kind === "allow") {
    return [
      ["proof.questions", proof.questions],
      ["proof.let_through", proof.let_through_total],
    ];
  }
  if (kind === "deny") {
    return [
      ["proof.denied", proof.newly_denied],
      ["proof.denied_approved", proof.newly_denied_approved],
    ];
  }
  return [
    ["proof.matched", proof.matched ?? 0],
    ["proof.asked", proof.newly_asked],
  ];
}

function Overriding({ rules }: { rules: readonly string[] }) {
  const p = useTextsOf(proposals);
  return (
    <div className={css.note} data-tone="warn">
      {p("proof.overridden")}
      <ul className={own.problems}>
        {rules.map((rule) => (
          <li key={rule}>
            <RuleName id={rule} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Calls({ name, total, calls }: { name: string; total: number; calls: readonly Call[] }) {
  const { t } = useTexts();
  const p = useTextsOf(proposals);
  const [all, setAll] = useState(false);
  const shown = all ? calls : calls.slice(0, FIRST);
  const heading = p("calls.total", { name, total });
  return (
    <div className={own.calls}>
      <h3 className={own.part}>{heading}</h3>
      <Table
        label={heading}
        rows={shown}
        id={(call) => call.operation_id}
        empty={p("calls.none")}
        columns={[
          { head: p("calls.call"), wide: true, cell: (call) => <Arguments call={call} /> },
          { head: t("field.agent"), cell: (call) => <Foreign>{call.agent_id}</Foreign> },
          {
            head: p("calls.ending"),
            cell: (call) => (
              <Pill
                tone={
                  call.ending === "approved"
                    ? "ok"
                    : call.ending === "declined" || call.ending === "denied"
                      ? "bad"
                      : "quiet"
                }
              >
                {p(`ending.${call.ending}`)}
              </Pill>
            ),
          },
          { head: t("field.when"), cell: (call) => <When at={call.at} /> },
        ]}
      />
      {shown.length < calls.length && (
        <div className={css.more}>
          <Button variant="default" size="xs" onClick={() => setAll(true)}>
            {p("calls.all", { count: calls.length })}
          </Button>
        </div>
      )}
      {calls.length < total && (
        <p className={css.under}>{p("calls.some", { shown: calls.length, total })}</p>
      )}
    </div>
  );
}

/** The command by itself and what else was given; of other tools all arguments. */
function Arguments({ call }: { call: Call }) {
  const { command, ...others } = call.arguments;
  const further = typeof command === "string" ? others : call.arguments;
  return (
    <>
      {typeof command === "string" ? (
        <Foreign mono>{command}</Foreign>
      ) : (
        <span className="mono">{call.tool_name}</span>
      )}
      {Object.entries(further).map(([name, value]) => (
        <span key={name} className={`${css.under} foreign mono`}>
          {visible(`${name}: ${asText(value)}`)}
        </span>
      ))}
    </>
  );
}

function Corpus({ changes }: { changes: readonly Schemas["CorpusChange"][] }) {
  const p = useTextsOf(proposals);
  return (
    <div className={own.calls}>
      <h3 className={own.part}>{p("proof.corpus")}</h3>
      <Table
        label={p("proof.corpus")}
        rows={changes}
        id={(change) => change.command}
        empty={p("calls.none")}
        columns={[
          {
            head: p("corpus.command"),
            wide: true,
            cell: (change) => <Foreign mono>{change.command}</Foreign>,
          },
          { head: p("corpus.before"), cell: (change) => <Foreign>{change.before}</Foreign> },
          { head: p("corpus.after"), cell: (change) => <Foreign>{change.after}</Foreign> },
        ]}
      />
    </div>
  );
}
