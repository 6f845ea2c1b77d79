/** One data source: where it is, what of it may be read, and by whom. */
import { NativeSelect, Switch } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { AgentsInput } from "../parts/AgentsInput";
import { AskFirst } from "../parts/AskFirst";
import { useEditing } from "../parts/editing";
import { type Digits, useFields } from "../parts/fields";
import { NumberField } from "../parts/NumberField";
import { Loaded, Page, Section } from "../parts/Page";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { AddressFields, addressOf, type Kind, useAddress } from "./SourceAddress";
import { SourceTables } from "./SourceTables";
import { SourceTest } from "./SourceTest";
import { changeSource, type EditProps } from "./sourceEditing";

const KINDS: readonly Kind[] = ["mysql", "postgres", "sqlite"];

export function NewSourcePage() {
  const { t } = useTexts();
  const go = useNavigate();
  const [kind, setKind] = useState<Kind>("mysql");
  const address = useAddress(null);
  return (
    <Page
      back={{ to: "/admin/sources", label: t("admin.sources") }}
      title={t("sources.new")}
      lead={t("sources.new.lead")}
    >
      <SaveForm
        label={t("common.create")}
        save={() =>
          data(
            api.POST("/api/v1/admin/data-sources", {
              body: { ...addressOf(kind, address), name: address.fields.name.trim(), kind },
            }),
          )
        }
        onSaved={(made) => void go(`/admin/sources/source/${encodeURIComponent(made.id)}`)}
      >
        <Section title={t("sources.address")}>
          <div className={css.form}>
            <NativeSelect
              label={t("sources.kind")}
              value={kind}
              onChange={(event) => setKind(event.currentTarget.value as Kind)}
              data={KINDS.map((value) => ({ value, label: t(`sources.kind.${value}`) }))}
            />
            <AddressFields kind={kind} address={address} />
          </div>
        </Section>
      </SaveForm>
    </Page>
  );
}

export function SourcePage() {
  const { t } = useTexts();
  const id = useParams().id ?? "";
  const go = useNavigate();
  const queries = useQueryClient();
  const source = useEditing(["source", id], () =>
    data(
      api.GET("/api/v1/admin/data-sources/{source_id}", { params: { path: { source_id: id } } }),
    ),
  );
  const found = source.query.data;
  const { round, reload, take } = source;
  const edit = { reload, take };
  return (
    <Page
      back={{ to: "/admin/sources", label: t("admin.sources") }}
      title={found?.name ?? t("sources.source")}
      lead={<span className="mono">{id}</span>}
      actions={
        found !== undefined && (
          <AskFirst
            label={t("common.delete")}
            size="sm"
            what={t("sources.delete.what", { name: found.name })}
            act={() =>
              data(
                api.DELETE("/api/v1/admin/data-sources/{source_id}", {
                  params: { path: { source_id: id }, header: ifMatch(found.version) },
                }),
              )
            }
            onDone={() => {
              void go("/admin/sources");
              void queries.invalidateQueries({ queryKey: ["admin", "sources"] });
            }}
          />
        )
      }
    >
      <Loaded query={source.query}>
        {(view) => (
          <>
            <Section title={t("sources.test")} lead={t("sources.test.lead")}>
              <SourceTest id={view.id} name={view.name} />
            </Section>
            <SourceTables key={`tables-${round}`} source={view} {...edit} />
            <Readers key={`readers-${round}`} source={view} {...edit} />
            <Address key={`address-${round}`} source={view} {...edit} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Stores a change of the source as it was read. */
function Address({ source, reload, take }: EditProps) {
  const { t } = useTexts();
  const address = useAddress(source);
  return (
    <Section title={t("sources.address")} lead={t("sources.address.lead")}>
      <SaveForm
        save={() => changeSource(source, addressOf(source.kind, address))}
        onSaved={(changed) => {
          address.put("password", "");
          address.put("forget", false);
          take(changed);
        }}
        reload={reload}
      >
        <div className={css.form}>
          <AddressFields kind={source.kind} address={address} hasPassword={source.password_set} />
        </div>
      </SaveForm>
    </Section>
  );
}

function Readers({ source, reload, take }: EditProps) {
  const { t } = useTexts();
  const { fields, digits, names, tick } = useFields({
    agents: source.agents,
    enabled: source.enabled,
    rows: source.limits.max_rows as Digits,
    bytes: source.limits.max_bytes as Digits,
    seconds: source.limits.statement_s as Digits,
  });
  return (
    <Section title={t("sources.readers")} lead={t("sources.readers.lead")}>
      <SaveForm
        save={() =>
          changeSource(source, {
            agents: fields.agents,
            enabled: fields.enabled,
            limits: {
              max_rows: Number(fields.rows),
              max_bytes: Number(fields.bytes),
              statement_s: Number(fields.seconds),
            },
          })
        }
        onSaved={take}
        reload={reload}
      >
        <div className={css.form}>
          <div className={css.whole}>
            <AgentsInput
              label={t("sources.agents")}
              description={t("sources.agents.help")}
              {...names("agents")}
            />
          </div>
          <NumberField label={t("sources.rows")} required min={1} max={1000} {...digits("rows")} />
          <NumberField
            label={t("sources.bytes")}
            required
            min={1000}
            max={10_000_000}
            {...digits("bytes")}
          />
          <NumberField
            label={t("sources.seconds")}
            required
            min={0.1}
            max={300}
            allowDecimal
            {...digits("seconds")}
          />
          <Switch label={t("sources.enabled")} {...tick("enabled")} />
        </div>
      </SaveForm>
    </Section>
  );
}
