/** Every setting as it holds, with where its value comes from. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { settingHelp } from "../../i18n/settingHelp";
import { Foreign, Pill } from "../parts/Bits";
import { Loaded, Page } from "../parts/Page";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { type Setting, wantedSettings } from "./settingRows";

const ORIGINS = [
  "argument",
  "environment",
  "env_file",
  "config_file",
  "database",
  "default",
] as const;

export default function SettingsPage() {
  const { t, language } = useTexts();
  const [words, setWords] = useState("");
  const [origin, setOrigin] = useState("");
  const settings = useQuery({
    queryKey: ["admin", "settings"],
    queryFn: () => data(api.GET("/api/v1/admin/settings")),
  });
  return (
    <Page title={t("admin.settings")} lead={t("settings.lead")}>
      <div className={css.bar}>
        <TextInput
          className={css.grow ?? ""}
          label={t("common.search")}
          placeholder={t("settings.search")}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
        <NativeSelect
          label={t("settings.origin")}
          value={origin}
          onChange={(event) => setOrigin(event.currentTarget.value)}
          data={[
            { value: "", label: t("filter.all") },
            ...ORIGINS.map((value) => ({ value, label: t(`settings.origin.${value}`) })),
          ]}
        />
      </div>
      <Loaded query={settings}>
        {(found) => (
          <Table
            label={t("admin.settings")}
            rows={wantedSettings(
              found.settings.map((row) => ({
                ...row,
                help: settingHelp(language, row.name, row.help),
              })),
              words,
              origin,
            )}
            id={(row) => row.name}
            empty={t("filter.nothing")}
            columns={[
              { head: t("field.name"), wide: true, cell: (row) => <Name row={row} /> },
              { head: t("settings.value"), wide: true, cell: (row) => <Value row={row} /> },
              {
                head: t("settings.origin"),
                cell: (row) => <From row={row} />,
              },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}

function Name({ row }: { row: Setting }) {
  return (
    <>
      <Foreign mono>{row.name}</Foreign>
      <span className={css.under}>{row.help}</span>
      <span className={css.under}>
        <Foreign mono>{row.environment_name}</Foreign>
      </span>
    </>
  );
}

function From({ row }: { row: Setting }) {
  const { t } = useTexts();
  const isStored = row.origin === "database";
  return (
    <>
      <Pill tone={row.origin === "default" ? "quiet" : "note"}>
        {t(`settings.origin.${row.origin}`)}
      </Pill>
      {!row.needs_restart && (
        <Link className={css.under} to={isStored ? "/admin/agents/default" : "/admin/agents"}>
          {t("settings.at_once")}
        </Link>
      )}
    </>
  );
}

function Shown({ value }: { value: string | null }) {
  const { t } = useTexts();
  if (value === null) return t("settings.not_set");
  if (value === "[]" || value === "{}") return t("settings.empty");
  return <Foreign mono>{value}</Foreign>;
}

function Value({ row }: { row: Setting }) {
  const { t } = useTexts();
  if (row.is_secret) return t(row.value === "set" ? "settings.set" : "settings.not_set");
  return (
    <>
      <Shown value={row.value} />
      {row.value !== row.default && (
        <span className={css.under}>
          {t("settings.default")}: <Shown value={row.default} />
        </span>
      )}
    </>
  );
}
