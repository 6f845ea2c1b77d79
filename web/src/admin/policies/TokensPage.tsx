/** Access tokens: who may come in, with which rights, until when. */
import { Checkbox, NumberInput, TagsInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import Logins from "../../shell/Logins";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Foreign, Pill, When } from "../parts/Bits";
import { MakeNew } from "../parts/MakeNew";
import { Loaded, Page, Section } from "../parts/Page";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { useGroups } from "./PolicyForm";

type Scope = Schemas["NewToken"]["scopes"][number];
const SCOPES = ["chat", "tools:call", "approve", "audit:read", "desktop", "admin"] as const;
/** A scope for one group of approvers. */
const FOR_GROUP = "approve:";

export default function TokensPage() {
  const { t } = useTexts();
  const queries = useQueryClient();
  const tokens = useQuery({
    queryKey: ["admin", "tokens"],
    queryFn: () => data(api.GET("/api/v1/admin/tokens")),
  });
  return (
    <Page title={t("admin.tokens")} lead={t("tokens.lead")} actions={<NewToken />}>
      <Loaded query={tokens}>
        {(found) => (
          <Table
            label={t("admin.tokens")}
            rows={found.tokens}
            id={(token) => token.id}
            empty={t("tokens.empty")}
            columns={[
              {
                head: t("field.name"),
                wide: true,
                cell: (token) => (
                  <>
                    <Foreign>{token.name}</Foreign>
                    <span className={css.under}>
                      <Foreign mono>{`${token.prefix}…`}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("tools.state"),
                cell: (token) => (
                  <Pill tone={token.state === "active" ? "ok" : "quiet"}>
                    {t(`tokens.state.${token.state}`)}
                  </Pill>
                ),
              },
              { head: t("tokens.scopes"), cell: (token) => <Chips values={token.scopes} /> },
              {
                head: t("admin.agents"),
                cell: (token) =>
                  token.agents === null ? t("filter.all") : <Chips values={token.agents} />,
              },
              { head: t("tokens.used"), cell: (token) => <When at={token.last_used_at} /> },
              { head: t("field.until"), cell: (token) => <When at={token.expires_at} /> },
              {
                head: t("field.actions"),
                cell: (token) =>
                  token.state === "active" && (
                    <AskFirst
                      label={t("grants.revoke")}
                      about={token.name}
                      what={t("tokens.revoke.what", { name: token.name })}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/tokens/{token_id}", {
                            params: { path: { token_id: token.id } },
                          }),
                        )
                      }
                      onDone={() =>
                        void queries.invalidateQueries({ queryKey: ["admin", "tokens"] })
                      }
                    />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      <div className={css.below}>
        <Section title={t("logins.title")} lead={t("logins.lead_all")}>
          <Logins
            everybody
            nameOf={(id) => tokens.data?.tokens.find((token) => token.id === id)?.prefix}
          />
        </Section>
      </div>
    </Page>
  );
}

function NewToken() {
  const { t } = useTexts();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["chat", "tools:call"]);
  const [groups, setGroups] = useState<string[]>([]);
  const a = useTextsOf(approvers);
  const known = useGroups();
  const [days, setDays] = useState<string | number>(90);
  return (
    <MakeNew
      label={t("tokens.new")}
      make={async () => {
        const made = await data(
          api.POST("/api/v1/admin/tokens", {
            body: {
              name,
              scopes: [
                ...SCOPES.filter((scope) => scopes.includes(scope)),
                // The published list of scopes has none of the groups.
                ...groups.map((group) => (FOR_GROUP + group) as Scope),
              ],
              ...(days === "" ? {} : { days: Number(days) }),
            },
          }),
        );
        return { secret: made.secret };
      }}
    >
      <TextInput
        data-autofocus
        label={t("field.name")}
        required
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Checkbox.Group label={t("tokens.scopes")} value={scopes} onChange={setScopes}>
        <div className={css.stack} style={{ gap: 8, marginTop: 8 }}>
          {SCOPES.map((scope) => (
            <Checkbox
              key={scope}
              value={scope}
              label={<span className="mono">{scope}</span>}
              description={t(`tokens.scope.${scope}`)}
            />
          ))}
        </div>
      </Checkbox.Group>
      <TagsInput
        label={a("scopes.groups")}
        description={a("scopes.groups.help")}
        data={known}
        value={groups}
        onChange={setGroups}
        acceptValueOnBlur
      />
      <NumberInput
        label={t("tokens.days")}
        description={t("tokens.days.help")}
        min={1}
        allowDecimal={false}
        hideControls
        value={days}
        onChange={setDays}
      />
    </MakeNew>
  );
}
