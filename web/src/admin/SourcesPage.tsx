/** Data sources: databases that agents may ask, what of them, and whether they answer. */
import { Button, NativeSelect, NumberInput, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../api/client";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { ErrorView } from "../shell/ErrorView";
import { AskFirst } from "./parts/AskFirst";
import { Chips, Foreign } from "./parts/Bits";
import { MakeNew } from "./parts/MakeNew";
import { OnOff } from "./parts/OnOff";
import { Loaded, More, Page } from "./parts/Page";
import { ifMatch, usePages } from "./parts/pages";
import css from "./parts/parts.module.css";
import { Table } from "./parts/Table";

type Source = Schemas["AdminSource"];

export default function SourcesPage() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const sources = usePages<Source>(["sources"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/sources", { params: { query } }));
    return { rows: page.sources, next: page.next_after };
  });
  return (
    <Page title={t("admin.sources")} lead={t("sources.lead")} actions={<NewSource />}>
      <Loaded query={sources}>
        {(rows) => (
          <Table
            label={t("admin.sources")}
            rows={rows}
            id={(source) => source.id}
            empty={t("sources.empty")}
            columns={[
              {
                head: t("tools.on"),
                cell: (source) => (
                  <OnOff
                    label={t("sources.switch", { name: source.name })}
                    on={source.enabled}
                    change={(enabled) =>
                      data(
                        api.PATCH("/api/v1/admin/sources/{source_id}", {
                          params: {
                            path: { source_id: source.id },
                            header: ifMatch(source.version),
                          },
                          body: { enabled },
                        }),
                      )
                    }
                  />
                ),
              },
              {
                head: t("sources.source"),
                wide: true,
                cell: (source) => (
                  <>
                    <Foreign>{source.name}</Foreign>
                    <span className={css.under}>
                      <Foreign mono>
                        {`${source.kind} ${source.file ?? source.unix_socket ?? `${source.host ?? ""}:${source.port ?? ""}/${source.database ?? ""}`}`}
                      </Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("sources.tables"),
                cell: (source) => (
                  <Chips values={source.tables.map((table) => `${table.schema}.${table.name}`)} />
                ),
              },
              { head: t("sources.agents"), cell: (source) => <Chips values={source.agents} /> },
              { head: t("sources.test"), wide: true, cell: (source) => <Test id={source.id} /> },
              {
                head: t("field.actions"),
                cell: (source) => (
                  <AskFirst
                    label={t("common.delete")}
                    about={source.name}
                    what={t("sources.delete.what", { name: source.name })}
                    act={() =>
                      data(
                        api.DELETE("/api/v1/admin/sources/{source_id}", {
                          params: {
                            path: { source_id: source.id },
                            header: ifMatch(source.version),
                          },
                        }),
                      )
                    }
                    onDone={() =>
                      void queries.invalidateQueries({ queryKey: ["admin", "sources"] })
                    }
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={sources} />
    </Page>
  );
}

/** Connects once, and tells what came of it. */
function Test({ id }: { id: string }) {
  const { t } = useTexts();
  const test = useMutation({
    mutationFn: () =>
      data(
        api.POST("/api/v1/admin/sources/{source_id}/test", { params: { path: { source_id: id } } }),
      ),
  });
  const found = test.data;
  return (
    <div className={css.stack}>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          {t("sources.connect")}
        </Button>
      </div>
      <div role="status">
        {test.error !== null && <ErrorView error={asApiError(test.error)} compact />}
        {found !== undefined && (
          <p className={`${css.note} foreign`} data-tone={found.ok ? "ok" : "bad"}>
            {found.ok
              ? t("sources.ok", {
                  server: found.server ?? "",
                  ms: Math.round(found.latency_ms ?? 0),
                })
              : (found.error ?? "")}
            {found.can_write === true && ` ${t("sources.can_write")}`}
            {found.warnings.map((warning) => ` ${warning}`)}
          </p>
        )}
      </div>
    </div>
  );
}

const KINDS = ["mysql", "postgres", "sqlite"] as const;

function NewSource() {
  const { t } = useTexts();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<(typeof KINDS)[number]>("mysql");
  const [host, setHost] = useState("");
  const [port, setPort] = useState<string | number>("");
  const [database, setDatabase] = useState("");
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const [tables, setTables] = useState("");
  const server =
    kind === "sqlite"
      ? { file: host }
      : {
          host,
          database,
          user,
          ...(port === "" ? {} : { port: Number(port) }),
          ...(password === "" ? {} : { password }),
        };
  const list = tables
    .split(/[\s,]+/)
    .filter((one) => one !== "")
    .map((one) => {
      const [schema, table] = one.includes(".") ? one.split(".") : [database || "main", one];
      return { schema: schema ?? "", name: table ?? "", masked: [] };
    });
  return (
    <MakeNew
      label={t("sources.new")}
      onClosed={() => setPassword("")}
      make={async () => {
        await api.POST("/api/v1/admin/sources", { body: { name, kind, ...server, tables: list } });
        return {};
      }}
    >
      <TextInput
        data-autofocus
        label={t("field.name")}
        required
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <NativeSelect
        label={t("sources.kind")}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
        data={[...KINDS]}
      />
      <TextInput
        label={t(kind === "sqlite" ? "sources.file" : "sources.host")}
        required
        value={host}
        onChange={(event) => setHost(event.currentTarget.value)}
      />
      {kind !== "sqlite" && (
        <>
          <NumberInput
            label={t("sources.port")}
            min={1}
            max={65535}
            allowDecimal={false}
            hideControls
            value={port}
            onChange={setPort}
          />
          <TextInput
            label={t("sources.database")}
            required
            value={database}
            onChange={(event) => setDatabase(event.currentTarget.value)}
          />
          <TextInput
            label={t("sources.user")}
            value={user}
            autoComplete="off"
            onChange={(event) => setUser(event.currentTarget.value)}
          />
          <PasswordInput
            label={t("sources.password")}
            description={t("sources.password.help")}
            value={password}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ "aria-label": t("signin.show") }}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        </>
      )}
      <TextInput
        label={t("sources.tables")}
        description={t("sources.tables.help")}
        value={tables}
        onChange={(event) => setTables(event.currentTarget.value)}
      />
    </MakeNew>
  );
}
