/** What commands connected to over the network, allowed or refused. */
import { Button, Select, TextInput } from "@mantine/core";
import { RotateCw } from "lucide-react";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { duration } from "../../chat/Duration";
import { type TextKey, useTexts } from "../../i18n";
import { refusalSaid, verdictSaid } from "../../i18n/networkWords";
import { bytes } from "../../renderers/data";
import { placeOf } from "../../renderers/networkUse";
import { visible } from "../../shared/visible";
import { useIdentity } from "../../shell/identity";
import { Lines } from "../../shell/Said";
import { Foreign, Id, Pill, type PillTone, When } from "../parts/Bits";
import { EditDialog, type FormEnds } from "../parts/EditDialog";
import { useEditing } from "../parts/editing";
import { Filters, useFilters } from "../parts/Filters";
import { Loaded, More, Page } from "../parts/Page";
import { usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { ProjectForm } from "../system/ProjectForm";
import { askedOf, ruleFor } from "./connectionRows";

type Row = Schemas["NetworkConnectionView"];
type Verdict = Row["verdict"];

const WORDS = ["host", "project_id", "agent_id", "session_id", "operation_id"] as const;
const TIMES = ["since", "until"] as const;
const NAMES = [...WORDS, ...TIMES];
const TONES: Readonly<Record<Verdict, PillTone>> = {
  open: "note",
  allowed: "ok",
  refused: "bad",
  lost: "warn",
};
const VERDICTS = Object.keys(TONES) as Verdict[];

export default function ConnectionsPage() {
  const { t, language } = useTexts();
  const [linked] = useSearchParams();
  const { typed, wanted, type } = useFilters<(typeof NAMES)[number]>(
    Object.fromEntries(NAMES.flatMap((name) => [[name, linked.get(name) ?? ""]])),
  );
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const asked = askedOf(verdict === null ? wanted : { ...wanted, verdict });
  const rows = usePages<Row>(["connections", asked], async (before) => {
    const query = {
      limit: 50,
      ...asked,
      ...(before === undefined ? {} : { before: Number(before) }),
    };
    const page = await data(api.GET("/api/v1/admin/audit/connections", { params: { query } }));
    return { rows: page.rows, next: page.next_before };
  });
  const isNarrowed = Object.keys(asked).length > 0;
  return (
    <Page
      title={t("admin.connections")}
      lead={t("connections.lead")}
      actions={
        <Button
          variant="default"
          leftSection={<RotateCw size={15} aria-hidden />}
          loading={rows.isRefetching && !rows.isFetchingNextPage}
          onClick={() => void rows.refetch()}
        >
          {t("common.reload")}
        </Button>
      }
    >
      <Filters names={WORDS} label={(name) => t(`connections.${name}`)} typed={typed} onType={type}>
        <Select
          size="xs"
          label={t("network.verdict")}
          placeholder={t("filter.all")}
          clearable
          value={verdict}
          data={VERDICTS.map((value) => ({ value, label: verdictSaid(t, value) }))}
          onChange={(value) => setVerdict(value as Verdict | null)}
        />
        {TIMES.map((name) => (
          <TextInput
            key={name}
            size="xs"
            type="datetime-local"
            className={css.span ?? ""}
            label={t(`connections.${name}` as TextKey)}
            value={typed[name] ?? ""}
            onChange={(event) => type(name, event.currentTarget.value)}
          />
        ))}
      </Filters>
      <Loaded query={rows}>
        {(found) => (
          <Table
            label={t("admin.connections")}
            rows={found}
            id={(row) => row.id}
            empty={t(isNarrowed ? "filter.nothing" : "connections.empty")}
            columns={[
              { head: t("field.when"), cell: (row) => <When at={row.ts} /> },
              { head: t("connections.host"), wide: true, cell: (row) => <Place row={row} /> },
              {
                head: t("network.verdict"),
                cell: (row) => <Pill tone={TONES[row.verdict]}>{verdictSaid(t, row.verdict)}</Pill>,
              },
              {
                head: t("network.up"),
                end: true,
                cell: (row) => moved(row, bytes(row.bytes_up, language)),
              },
              {
                head: t("network.down"),
                end: true,
                cell: (row) => moved(row, bytes(row.bytes_down, language)),
              },
              {
                head: t("connections.duration"),
                end: true,
                cell: (row) => moved(row, duration(row.duration_s * 1000, language)),
              },
              { head: t("field.agent"), cell: (row) => <Who row={row} /> },
              { head: t("connections.call"), cell: (row) => <Origin row={row} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={rows} />
    </Page>
  );
}

/** What is known once a connection has ended; nothing was moved by one that was refused. */
const moved = ({ verdict }: Row, figure: string) => (verdict === "allowed" ? figure : "–");

function Place({ row }: { row: Row }) {
  const { language } = useTexts();
  const { may } = useIdentity();
  const canAllow = row.code === "not_allowed" && row.project_id !== null && may("admin");
  return (
    <div className={css.anywhere}>
      <Foreign mono>{placeOf(row.host, row.port)}</Foreign>
      {row.reason !== null && (
        <div className={css.under}>
          <Lines {...refusalSaid(language, row.code, visible(row.reason))} />
        </div>
      )}
      {canAllow && <Allow project={row.project_id ?? ""} rule={ruleFor(row.host, row.port)} />}
    </div>
  );
}

/** Opens the project's allowed hosts with one more; nothing is allowed before it is saved. */
function Allow({ project, rule }: { project: string; rule: string }) {
  const { t } = useTexts();
  return (
    <div className={css.beneath}>
      <EditDialog
        label={t("connections.allow")}
        about={rule}
        title={t("connections.allow.title", { name: visible(project) })}
      >
        {(ends) => <AllowForm project={project} rule={rule} ends={ends} />}
      </EditDialog>
    </div>
  );
}

function AllowForm({ project, rule, ends }: { project: string; rule: string; ends: FormEnds }) {
  const { t } = useTexts();
  const { query, round, reload } = useEditing(["project", project], () =>
    data(
      api.GET("/api/v1/admin/projects/{project_id}", { params: { path: { project_id: project } } }),
    ),
  );
  return (
    <Loaded query={query}>
      {(found) => (
        <div className={css.stack}>
          <p className={css.note}>
            {t(
              found.allowed_hosts.includes(rule)
                ? "connections.allow.listed"
                : "connections.allow.added",
              { host: visible(rule) },
            )}
          </p>
          <ProjectForm
            key={round}
            project={found}
            allow={rule}
            ends={{ ...ends, reload: () => void reload() }}
          />
        </div>
      )}
    </Loaded>
  );
}

/** The agent, and for whom and where it worked. */
function Who({ row }: { row: Row }) {
  return (
    <>
      <Foreign>{row.agent_id ?? "–"}</Foreign>
      <span className={css.under}>
        <Foreign>{[row.user_id, row.project_id].filter((one) => one !== null).join(" · ")}</Foreign>
      </span>
    </>
  );
}

function Origin({ row }: { row: Row }) {
  const { t } = useTexts();
  const { may, me } = useIdentity();
  const isOpen = may("chat") && (may("admin") || row.user_id === me?.user_id);
  return (
    <>
      {row.session_id !== null && isOpen && (
        <Link className={`${css.link} ${css.nowrap}`} to={`/chat/${row.session_id}`}>
          {t("sessions.open")}
        </Link>
      )}
      {row.session_id !== null && !isOpen && <Id value={row.session_id} />}
      <div>
        <Id value={row.operation_id} />
      </div>
    </>
  );
}
