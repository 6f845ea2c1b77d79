/** Substitutes: users who answer for others for a limited time. */
import { TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import { useIdentity } from "../../shell/identity";
import { AskFirst } from "../parts/AskFirst";
import { Foreign, Pill, When } from "../parts/Bits";
import { EditDialog, type FormEnds } from "../parts/EditDialog";
import { useFields } from "../parts/fields";
import { Loaded, Section } from "../parts/Page";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { Table } from "../parts/Table";

type Substitution = Schemas["SubstitutionView"];

/** One's own substitutes, and those whose substitute one is. */
export function MySubstitutes() {
  const a = useTextsOf(approvers);
  const { me } = useIdentity();
  const query = useQuery({
    queryKey: ["admin", "substitutes", "own"],
    queryFn: () => data(api.GET("/api/v1/me/substitutes")),
  });
  const revoke = (id: string) =>
    data(
      api.DELETE("/api/v1/me/substitutes/{substitution_id}", {
        params: { path: { substitution_id: id } },
      }),
    );
  const of = (rows: readonly Substitution[], isMine: boolean) =>
    rows.filter((row) => (row.user_id === me?.user_id) === isMine);
  return (
    <Loaded query={query}>
      {({ substitutions }) => (
        <>
          <Section
            title={a("subs.mine")}
            lead={a("subs.mine.lead")}
            actions={
              <EditDialog label={a("subs.new")} isNew>
                {(ends) => <SubstituteForm ends={ends} everyone={false} />}
              </EditDialog>
            }
          >
            <SubstituteTable
              label={a("subs.mine")}
              rows={of(substitutions, true)}
              columns={["substitute"]}
              revoke={revoke}
              onRevoked={() => void query.refetch()}
            />
          </Section>
          {of(substitutions, false).length > 0 && (
            <Section title={a("subs.others")}>
              <SubstituteTable
                label={a("subs.others")}
                rows={of(substitutions, false)}
                columns={["user"]}
                revoke={revoke}
                onRevoked={() => void query.refetch()}
              />
            </Section>
          )}
        </>
      )}
    </Loaded>
  );
}

/** Those of all users. */
export function AllSubstitutes() {
  const a = useTextsOf(approvers);
  const query = useQuery({
    queryKey: ["admin", "substitutes", "all"],
    queryFn: () => data(api.GET("/api/v1/admin/substitutes")),
  });
  return (
    <Section
      title={a("tab.substitutes")}
      lead={a("subs.lead")}
      actions={
        <EditDialog label={a("subs.new")} isNew>
          {(ends) => <SubstituteForm ends={ends} everyone />}
        </EditDialog>
      }
    >
      <Loaded query={query}>
        {({ substitutions }) => (
          <SubstituteTable
            label={a("tab.substitutes")}
            rows={substitutions}
            columns={["substitute", "user"]}
            revoke={(id) =>
              data(
                api.DELETE("/api/v1/admin/substitutes/{substitution_id}", {
                  params: { path: { substitution_id: id } },
                }),
              )
            }
            onRevoked={() => void query.refetch()}
          />
        )}
      </Loaded>
    </Section>
  );
}

interface TableProps {
  label: string;
  rows: readonly Substitution[];
  columns: readonly ("user" | "substitute")[];
  revoke: (id: string) => Promise<unknown>;
  onRevoked: () => void;
}

function SubstituteTable({ label, rows, columns, revoke, onRevoked }: TableProps) {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  return (
    <Table
      label={label}
      rows={rows}
      id={(row) => row.id}
      empty={a("subs.empty")}
      columns={[
        ...columns.map((side, index) => ({
          head: a(`subs.${side}`),
          title: index === 0,
          cell: (row: Substitution) => (
            <Foreign>{side === "user" ? row.user_id : row.substitute_id}</Foreign>
          ),
        })),
        {
          head: t("tools.state"),
          cell: (row) => (
            <Pill tone={row.active ? "ok" : "quiet"}>
              {a(row.active ? "subs.active" : "subs.planned")}
            </Pill>
          ),
        },
        { head: a("subs.from"), cell: (row) => <When at={row.starts_at} /> },
        { head: a("subs.until"), cell: (row) => <When at={row.ends_at} /> },
        {
          head: a("subs.note"),
          wide: true,
          cell: (row) => (row.note === "" ? "–" : <Foreign>{row.note}</Foreign>),
        },
        {
          head: t("field.actions"),
          cell: (row) => (
            <AskFirst
              label={a("subs.revoke")}
              about={`${row.user_id} – ${row.substitute_id}`}
              what={a("subs.revoke.what", {
                substitute: row.substitute_id,
                user: row.user_id,
              })}
              act={() => revoke(row.id)}
              onDone={onRevoked}
            />
          ),
        },
      ]}
    />
  );
}

/** Who answers for whom, from when until when. */
function SubstituteForm({ ends, everyone }: { ends: FormEnds; everyone: boolean }) {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  const { fields, text } = useFields({ user: "", substitute: "", from: "", until: "", note: "" });
  const body = () => ({
    substitute_id: fields.substitute.trim(),
    ...(fields.from === "" ? {} : { starts_at: momentOf(fields.from) }),
    ends_at: momentOf(fields.until),
    note: fields.note.trim(),
  });
  return (
    <SaveForm
      {...ends}
      label={t("common.create")}
      save={() =>
        everyone
          ? data(
              api.POST("/api/v1/admin/substitutes", {
                body: { ...body(), user_id: fields.user.trim() },
              }),
            )
          : data(api.POST("/api/v1/me/substitutes", { body: body() }))
      }
    >
      <div className={css.form}>
        {everyone && (
          <TextInput
            data-autofocus
            label={a("subs.user")}
            description={a("subs.substitute.help")}
            required
            maxLength={64}
            {...text("user")}
          />
        )}
        <TextInput
          data-autofocus={everyone ? undefined : true}
          label={a("subs.substitute")}
          description={a("subs.substitute.help")}
          required
          maxLength={64}
          {...text("substitute")}
        />
        <TextInput
          type="datetime-local"
          label={a("subs.from")}
          description={a("subs.from.help")}
          {...text("from")}
        />
        <TextInput type="datetime-local" label={a("subs.until")} required {...text("until")} />
        <TextInput
          className={css.whole ?? ""}
          label={a("subs.note")}
          maxLength={500}
          {...text("note")}
        />
      </div>
    </SaveForm>
  );
}

/** A moment on the reader's own clock, for the service. */
const momentOf = (local: string): string => new Date(local).toISOString();

interface UsersProps {
  label: string;
  description?: string;
  value: string[];
  onChange: (value: string[]) => void;
}

/** Users: those who have tokens are proposed, any name can be written. */
export function UsersInput({ label, description, value, onChange }: UsersProps) {
  const names = useUsers();
  return (
    <TagsInput
      label={label}
      description={description}
      data={names}
      value={value}
      onChange={onChange}
      acceptValueOnBlur
    />
  );
}

/** Names of the users who have tokens. */
export function useUsers(): string[] {
  const tokens = useQuery({
    queryKey: ["admin", "tokens"],
    queryFn: () => data(api.GET("/api/v1/admin/tokens")),
  });
  return [...new Set(tokens.data?.tokens.map((token) => token.name))].sort();
}
