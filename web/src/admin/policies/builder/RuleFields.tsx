/** The form of a rule. */
import { Button, NativeSelect, SegmentedControl, Switch, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, data } from "../../../api/client";
import { useTools } from "../../../chat/tools";
import { useTexts, useTextsOf } from "../../../i18n";
import { builder } from "../../../i18n/texts/builder";
import { text } from "../../../renderers/data";
import type { Definition } from "../ruleWords";
import css from "./Builder.module.css";
import {
  hostsOf,
  inDays,
  linesOf,
  listOf,
  localTime,
  matchOf,
  momentOf,
  onlyInJson,
  programsOf,
  type ScopeKind,
  scopeOf,
  withField,
  withHosts,
  withMatch,
  withPrograms,
  withScope,
  withWords,
  wordsOf,
} from "./formModel";
import { LinesField } from "./LinesField";
import { WordRows } from "./WordRows";

interface Props {
  definition: Definition;
  onChange: (definition: Definition) => void;
}

export function RuleFields({ definition, onChange }: Props) {
  const { t } = useTexts();
  const own = useTextsOf(builder);
  const names = onlyInJson(definition);
  return (
    <div className={css.fields}>
      <div>
        <span className={css.label} id="rule-decision">
          {own("effect")}
        </span>
        <SegmentedControl
          fullWidth
          aria-labelledby="rule-decision"
          value={definition.decision}
          onChange={(decision) =>
            onChange({ ...definition, decision: decision as Definition["decision"] })
          }
          data={(["allow", "ask", "deny"] as const).map((value) => ({
            value,
            label: t(`verdict.${value}`),
          }))}
        />
      </div>
      <ToolField definition={definition} onChange={onChange} />
      <WordRows
        words={wordsOf(definition)}
        onChange={(words) => onChange(withWords(definition, words))}
      />
      <ProgramsField definition={definition} onChange={onChange} />
      <LinesField
        label={own("paths")}
        description={own("paths.help")}
        value={linesOf(matchOf(definition).paths)}
        onChange={(written) => onChange(withMatch(definition, { paths: listOf(written) }))}
      />
      <LinesField
        label={own("hosts")}
        description={own("hosts.help")}
        value={hostsOf(definition)}
        onChange={(written) => onChange(withHosts(definition, written))}
      />
      <ScopeFields definition={definition} onChange={onChange} />
      <ExpiryFields definition={definition} onChange={onChange} />
      <Textarea
        label={own("note")}
        description={own("note.help")}
        required={definition.decision !== "allow"}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={2000}
        value={text(definition.justification)}
        onChange={(event) =>
          onChange(withField(definition, "justification", event.currentTarget.value || undefined))
        }
      />
      <Switch
        label={own("enabled")}
        checked={definition.enabled !== false}
        onChange={(event) =>
          onChange(
            withField(definition, "enabled", event.currentTarget.checked ? undefined : false),
          )
        }
      />
      {names.length > 0 && (
        <p className={css.help} data-testid="json-only">
          {own("json_only", { names: names.join(", ") })}
          {names.includes("examples") && (
            <Button
              size="compact-xs"
              variant="subtle"
              onClick={() => onChange(withField(definition, "examples", undefined))}
            >
              {own("examples.drop")}
            </Button>
          )}
        </p>
      )}
    </div>
  );
}

function ToolField({ definition, onChange }: Props) {
  const own = useTextsOf(builder);
  const list = useId();
  const tools = useTools(true);
  return (
    <>
      <TextInput
        label={own("tool")}
        description={own("tool.help")}
        classNames={{ input: "mono" }}
        required
        list={list}
        spellCheck={false}
        autoCapitalize="none"
        value={text(definition.tool)}
        onChange={(event) => onChange({ ...definition, tool: event.currentTarget.value.trim() })}
      />
      <datalist id={list}>
        {tools.data?.map((tool) => (
          <option key={tool.name} value={tool.name} />
        ))}
      </datalist>
    </>
  );
}

function ProgramsField({ definition, onChange }: Props) {
  const own = useTextsOf(builder);
  const stored = programsOf(definition);
  const [draft, setDraft] = useState(stored);
  const isSame = programsOf(withPrograms(definition, draft)) === stored;
  return (
    <TextInput
      label={own("programs")}
      description={own("programs.help")}
      classNames={{ input: "mono" }}
      spellCheck={false}
      autoCapitalize="none"
      value={isSame ? draft : stored}
      onChange={(event) => {
        setDraft(event.currentTarget.value);
        onChange(withPrograms(definition, event.currentTarget.value));
      }}
    />
  );
}

const SCOPES: readonly ScopeKind[] = ["global", "agent", "project", "session"];

function ScopeFields({ definition, onChange }: Props) {
  const own = useTextsOf(builder);
  const { kind, id } = scopeOf(definition);
  const agents = useQuery({
    queryKey: ["admin", "agents", "all"],
    enabled: kind === "agent",
    queryFn: () => data(api.GET("/api/v1/admin/agents", { params: { query: { limit: 100 } } })),
  });
  const projects = useQuery({
    queryKey: ["admin", "projects", "all"],
    enabled: kind === "project",
    queryFn: () => data(api.GET("/api/v1/admin/projects", { params: { query: { limit: 100 } } })),
  });
  const list = useId();
  const known =
    kind === "agent"
      ? ["default", ...(agents.data?.agents.map((agent) => agent.profile.id) ?? [])]
      : kind === "project"
        ? (projects.data?.projects.map((project) => project.id) ?? [])
        : [];
  return (
    <div className={css.pair}>
      <NativeSelect
        label={own("scope")}
        value={kind}
        data={SCOPES.map((value) => ({ value, label: own(`scope.${value}`) }))}
        onChange={(event) => {
          const next = event.currentTarget.value as ScopeKind;
          onChange(
            withScope(definition, next, next === "agent" || next === "project" ? "default" : ""),
          );
        }}
      />
      {kind !== "global" && (
        <>
          <TextInput
            label={own(`scope.which.${kind}`)}
            classNames={{ input: "mono" }}
            required
            list={list}
            spellCheck={false}
            autoCapitalize="none"
            value={id}
            onChange={(event) =>
              onChange(withScope(definition, kind, event.currentTarget.value.trim()))
            }
          />
          <datalist id={list}>
            {[...new Set(known)].map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </div>
  );
}

const DAYS = [7, 30, 90];

function ExpiryFields({ definition, onChange }: Props) {
  const own = useTextsOf(builder);
  const at = definition.expires_at;
  const put = (moment: string | undefined) => onChange(withField(definition, "expires_at", moment));
  return (
    <div className={css.pair}>
      <NativeSelect
        label={own("expiry")}
        value={at == null ? "never" : "date"}
        data={[
          { value: "never", label: own("expiry.never") },
          ...DAYS.map((count) => ({ value: String(count), label: own("expiry.days", { count }) })),
          { value: "date", label: own("expiry.date") },
        ]}
        onChange={(event) => {
          const { value } = event.currentTarget;
          put(value === "never" ? undefined : inDays(Number(value) || 30, Date.now()));
        }}
      />
      {at != null && (
        <TextInput
          type="datetime-local"
          label={own("expiry.at")}
          value={localTime(at)}
          onChange={(event) => put(momentOf(event.currentTarget.value) ?? at)}
        />
      )}
    </div>
  );
}
