/** Rule proposals: open ones with their proofs, and those that are decided. */
import { Button, NativeSelect } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useState } from "react";
import { Link, Route, useParams } from "react-router";
import { api, data, type Schemas } from "../../../api/client";
import { asApiError } from "../../../events/sessionStore";
import { useTexts, useTextsOf } from "../../../i18n";
import { proposals } from "../../../i18n/texts/admin/proposals";
import { visible } from "../../../shared/visible";
import { ErrorView } from "../../../shell/ErrorView";
import { Sections } from "../../../shell/Sections";
import { Foreign, Pill, When } from "../../parts/Bits";
import { Empty, Loaded, More, Page } from "../../parts/Page";
import { usePages } from "../../parts/pages";
import css from "../../parts/parts.module.css";
import { Table } from "../../parts/Table";
import { Tabs } from "../../parts/Tabs";
import { ProposalCard } from "./ProposalCard";
import own from "./proposals.module.css";
import { type Proposal, STATE_TONE, type State } from "./proposalWords";

type Summary = Schemas["ProposalSummary"];

const DECIDED = ["accepted", "dismissed", "stale"] as const satisfies readonly State[];
/** Each open one is shown with its proof. */
const OPEN_LIMIT = 10;

export default function ProposalsPage() {
  const { t } = useTexts();
  const p = useTextsOf(proposals);
  const queries = useQueryClient();
  const again = useMutation({
    mutationFn: () => data(api.POST("/api/v1/admin/rule-proposals/recompute")),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
  return (
    <Page
      title={t("admin.proposals")}
      lead={p("lead")}
      actions={
        <Button
          variant="default"
          leftSection={<RefreshCw size={15} aria-hidden />}
          loading={again.isPending}
          onClick={() => again.mutate()}
        >
          {p("again")}
        </Button>
      }
    >
      <Tabs
        label={t("admin.proposals")}
        tabs={[
          { to: "/admin/proposals", label: p("tab.open") },
          { to: "/admin/proposals/decided", label: p("tab.decided") },
        ]}
      />
      {again.error !== null && <ErrorView error={asApiError(again.error)} />}
      <div role="status">
        {again.data !== undefined && (
          <p className={`${css.note} ${own.done}`}>{p("again.done", { ...again.data })}</p>
        )}
      </div>
      <Sections>
        <Route index element={<OpenProposals />} />
        <Route path="decided" element={<Decided />} />
        <Route path="proposal/:id" element={<OneProposal />} />
      </Sections>
    </Page>
  );
}

function useDecisions() {
  const queries = useQueryClient();
  const [done, setDone] = useState<Proposal | null>(null);
  const onDecided = (proposal: Proposal) => {
    setDone(proposal);
    void queries.invalidateQueries({ queryKey: ["admin", "proposals"] });
    void queries.invalidateQueries({ queryKey: ["admin", "rules"] });
  };
  return { done, onDecided };
}

function OpenProposals() {
  const p = useTextsOf(proposals);
  const { done, onDecided } = useDecisions();
  const [refused, setRefused] = useState<string | null>(null);
  const open = usePages<Summary>(["proposals", "open"], (after) => page("open", after, OPEN_LIMIT));
  return (
    <>
      <Done proposal={done} />
      <Loaded query={open}>
        {(rows) => {
          const ids = rows.map((row) => row.id);
          // One that was withdrawn while somebody accepted it stays, with the reason.
          const shown = refused === null || ids.includes(refused) ? ids : [refused, ...ids];
          return shown.length === 0 ? (
            <Empty>{p("open.empty")}</Empty>
          ) : (
            shown.map((id) => (
              <ProposalCard key={id} id={id} onDecided={onDecided} onRefused={setRefused} />
            ))
          );
        }}
      </Loaded>
      <More query={open} />
    </>
  );
}

function OneProposal() {
  const { id = "" } = useParams();
  const { done, onDecided } = useDecisions();
  return (
    <>
      <Done proposal={done} />
      <ProposalCard key={id} id={id} onDecided={onDecided} onRefused={() => undefined} />
    </>
  );
}

function Done({ proposal }: { proposal: Proposal | null }) {
  const p = useTextsOf(proposals);
  return (
    <div role="status">
      {proposal !== null && (
        <p className={`${css.note} ${own.done} foreign`} data-tone="ok">
          {p(proposal.state === "accepted" ? "accept.done" : "dismiss.done", {
            covers: visible(proposal.covers),
          })}{" "}
          {proposal.state === "accepted" && proposal.kind !== "remove" && (
            <RuleLink id={proposal.rule_id} label={p("accept.rule")} />
          )}
        </p>
      )}
    </div>
  );
}

function RuleLink({ id, label }: { id: string | null; label: string }) {
  if (id === null) return null;
  return (
    <Link className={css.link} to={`/admin/rules/rule/${encodeURIComponent(id)}`}>
      {label}
    </Link>
  );
}

function Decided() {
  const { t } = useTexts();
  const p = useTextsOf(proposals);
  const [state, setState] = useState<State | "">("");
  const decided = usePages<Summary>(["proposals", "decided", state], (after) =>
    page(state === "" ? null : state, after, 100),
  );
  return (
    <>
      <div className={css.bar}>
        <NativeSelect
          label={p("state")}
          value={state}
          onChange={(event) => setState(event.currentTarget.value as State | "")}
          data={[
            { value: "", label: t("filter.all") },
            ...DECIDED.map((value) => ({ value, label: p(`state.${value}`) })),
          ]}
        />
      </div>
      <Loaded query={decided}>
        {(rows) => (
          <Table
            label={p("tab.decided")}
            rows={rows.filter((row) => row.state !== "open")}
            id={(row) => row.id}
            empty={p("decided.empty")}
            columns={[
              {
                head: p("state"),
                cell: (row) => <Pill tone={STATE_TONE[row.state]}>{p(`state.${row.state}`)}</Pill>,
              },
              {
                head: p("proposal"),
                wide: true,
                cell: (row) => (
                  <>
                    <Link
                      className={`${css.link} foreign`}
                      to={`/admin/proposals/proposal/${encodeURIComponent(row.id)}`}
                    >
                      {p(`title.${row.kind}`, { covers: visible(row.covers) })}
                    </Link>
                    <span className={`${css.under} foreign`} lang="en">
                      {visible(row.why)}
                    </span>
                  </>
                ),
              },
              {
                head: p("decided.by"),
                cell: (row) =>
                  row.decided_by === null ? "–" : <Foreign>{row.decided_by}</Foreign>,
              },
              {
                head: p("decided.at"),
                cell: (row) => <When at={row.decided_at ?? row.proven_at} />,
              },
              {
                head: p("rule"),
                cell: (row) =>
                  row.state === "accepted" && row.kind !== "remove" ? (
                    <RuleLink id={row.rule_id} label={p("accept.rule")} />
                  ) : (
                    "–"
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={decided} />
    </>
  );
}

/** Proposals of a state, or all of them, page by page. */
async function page(state: State | null, after: string | number | undefined, limit: number) {
  const query = {
    limit,
    ...(state === null ? {} : { state }),
    ...(after === undefined ? {} : { after: String(after) }),
  };
  const found = await data(api.GET("/api/v1/admin/rule-proposals", { params: { query } }));
  return { rows: found.proposals, next: found.next_after };
}
