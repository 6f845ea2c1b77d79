/** A rule, as a form and as JSON, with its effect on past calls beside it. */
import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useMemo, useState } from "react";
import { useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { api, data, type Schemas } from "../../../api/client";
import { parseObject } from "../../../chat/ConfirmationCard";
import { asApiError } from "../../../events/sessionStore";
import { useTexts, useTextsOf } from "../../../i18n";
import { builder } from "../../../i18n/texts/builder";
import { isObject } from "../../../renderers/data";
import { visible } from "../../../shared/visible";
import { ErrorView } from "../../../shell/ErrorView";
import { AskFirst } from "../../parts/AskFirst";
import { useEditing } from "../../parts/editing";
import { Loaded, Page, Section } from "../../parts/Page";
import { ifMatch } from "../../parts/pages";
import parts from "../../parts/parts.module.css";
import { type Definition, definitionOf } from "../ruleWords";
import css from "./Builder.module.css";
import { callLine } from "./callLine";
import { previewOf, scopeOf, wholeOf } from "./formModel";
import { Reach, ReachLine } from "./Reach";
import { RuleFields } from "./RuleFields";
import { draftFrom, StartFrom } from "./StartFrom";

const FIRST: Definition = { tool: "bash", decision: "ask" };
const PAUSE_MS = 400;

export default function RuleBuilder() {
  const { t } = useTexts();
  const own = useTextsOf(builder);
  const { id } = useParams();
  return (
    <Page
      back={{ to: "/admin/rules", label: t("admin.rules") }}
      title={id === undefined ? t("rules.new") : t("rules.edit")}
      lead={own("lead")}
    >
      {id === undefined ? <NewRule /> : <StoredRule id={id} />}
    </Page>
  );
}

function NewRule() {
  const [query] = useSearchParams();
  const state: unknown = useLocation().state;
  const call = query.get("call");
  const confirmation = query.get("confirmation");
  const source =
    call !== null
      ? { operation_id: call }
      : confirmation !== null
        ? { confirmation_id: confirmation }
        : null;
  const draft = useQuery({
    queryKey: ["rule-draft", source],
    enabled: source !== null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => draftFrom(source ?? {}),
  });
  if (source === null) {
    const proposed = isObject(state) && isObject(state.proposal) ? state.proposal : FIRST;
    return <Editor definition={proposed as unknown as Definition} stored={null} from={null} />;
  }
  return (
    <Loaded query={draft}>
      {(found) => (
        <Editor
          definition={found.definition as unknown as Definition}
          stored={null}
          from={callLine(found.tool, found.arguments as Record<string, unknown>)}
        />
      )}
    </Loaded>
  );
}

function StoredRule({ id }: { id: string }) {
  const { query, round } = useEditing(["rule", id], () =>
    data(api.GET("/api/v1/admin/rules/{rule_id}", { params: { path: { rule_id: id } } })),
  );
  return (
    <Loaded query={query}>
      {(found) => (
        <Editor key={round} definition={definitionOf(found)} stored={found} from={null} />
      )}
    </Loaded>
  );
}

interface EditorProps {
  definition: Definition;
  stored: Schemas["RuleView"] | null;
  /** The call that it was drafted from. */
  from: string | null;
}

function Editor({ definition: first, stored, from: firstFrom }: EditorProps) {
  const { t } = useTexts();
  const own = useTextsOf(builder);
  const [definition, setDefinition] = useState(first);
  const [from, setFrom] = useState(firstFrom);
  const [tab, setTab] = useState<"form" | "json">("form");
  /** The text of the JSON tab where it differs from the definition. */
  const [written, setWritten] = useState<string | null>(null);
  const isBroken = written !== null && parseObject(written) === null;
  const scope = scopeOf(definition);
  const isWhole =
    !isBroken &&
    definition.tool !== "" &&
    definition.decision !== undefined &&
    (scope.kind === "global" || scope.id !== "");
  const settled = useSettled(definition, PAUSE_MS);
  const preview = useMemo(() => previewOf(settled), [settled]);
  const isLocked = stored?.source === "file";

  function takeJson(text: string) {
    setWritten(text);
    const read = parseObject(text);
    if (read !== null) setDefinition(read as unknown as Definition);
  }

  return (
    <div className={css.columns}>
      <div className={css.column}>
        {stored === null && (
          <Section title={own("start")}>
            <StartFrom
              onDraft={(drafted, line) => {
                setDefinition(drafted);
                setWritten(null);
                setFrom(line);
              }}
            />
            {from !== null && (
              <p className={`${css.help} foreign`} role="status">
                {own("start.loaded", { what: visible(from) })}
              </p>
            )}
          </Section>
        )}
        <Section title={t("rules.definition")}>
          {isLocked && <p className={parts.note}>{t("rules.from_file")}</p>}
          <ModeTabs tab={tab} onChoose={setTab} />
          <SaveForm definition={isWhole ? definition : null} stored={stored} isLocked={isLocked}>
            {tab === "json" ? (
              <Textarea
                label={own("json")}
                description={own("json.help")}
                classNames={{ input: "mono" }}
                autosize
                minRows={12}
                maxRows={28}
                spellCheck={false}
                error={isBroken ? t("form.not_json") : undefined}
                value={written ?? JSON.stringify(definition, null, 2)}
                onChange={(event) => takeJson(event.currentTarget.value)}
              />
            ) : (
              <>
                {isBroken && (
                  <div role="alert" className={css.broken}>
                    {own("json.broken")}{" "}
                    <Button size="compact-xs" variant="default" onClick={() => setWritten(null)}>
                      {own("json.discard")}
                    </Button>
                  </div>
                )}
                <fieldset className={css.bare} disabled={isBroken || isLocked}>
                  <RuleFields
                    definition={definition}
                    onChange={(changed) => {
                      setDefinition(changed);
                      setWritten(null);
                    }}
                  />
                </fieldset>
              </>
            )}
          </SaveForm>
        </Section>
        <ReachLine definition={isWhole ? preview : null} insteadOf={stored?.id} />
      </div>
      <div className={css.column}>
        <div className={css.beside}>
          <Reach definition={isWhole ? preview : null} insteadOf={stored?.id} />
        </div>
      </div>
    </div>
  );
}

/** What a value is once it has not changed for a while. */
function useSettled<T>(value: T, pauseMs: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value, pauseMs]);
  return settled;
}

interface ModeTabsProps {
  tab: "form" | "json";
  onChoose: (tab: "form" | "json") => void;
}

function ModeTabs({ tab, onChoose }: ModeTabsProps) {
  const own = useTextsOf(builder);
  const other = tab === "form" ? "json" : "form";
  return (
    <div
      role="tablist"
      aria-label={own("tabs")}
      className={css.tabs}
      onKeyDown={(event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        onChoose(other);
        document.getElementById(`rule-tab-${other}`)?.focus();
      }}
    >
      {(["form", "json"] as const).map((one) => (
        <button
          key={one}
          type="button"
          role="tab"
          id={`rule-tab-${one}`}
          aria-selected={tab === one}
          aria-controls="rule-panel"
          tabIndex={tab === one ? 0 : -1}
          className={css.tab}
          onClick={() => onChoose(one)}
        >
          {own(`tab.${one}`)}
        </button>
      ))}
    </div>
  );
}

interface SaveFormProps {
  definition: Definition | null;
  stored: Schemas["RuleView"] | null;
  isLocked: boolean;
  children: React.ReactNode;
}

function SaveForm({ definition, stored, isLocked, children }: SaveFormProps) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const go = useNavigate();
  const save = useMutation({
    mutationFn: (body: Definition) =>
      stored === null
        ? data(api.POST("/api/v1/admin/rules", { body }))
        : data(
            api.PATCH("/api/v1/admin/rules/{rule_id}", {
              params: { path: { rule_id: stored.id }, header: ifMatch(stored.version) },
              body: wholeOf(body),
            }),
          ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["admin"] });
      void go("/admin/rules");
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (definition !== null) save.mutate(definition);
  }
  return (
    <form onSubmit={submit}>
      <div role="tabpanel" id="rule-panel">
        {children}
      </div>
      {save.error !== null && <ErrorView error={asApiError(save.error)} />}
      {!isLocked && (
        <div className={parts.formFoot}>
          {stored !== null && (
            <AskFirst
              label={t("common.delete")}
              size="sm"
              what={t("rules.delete.what")}
              act={() =>
                data(
                  api.DELETE("/api/v1/admin/rules/{rule_id}", {
                    params: { path: { rule_id: stored.id }, header: ifMatch(stored.version) },
                  }),
                )
              }
              onDone={() => {
                void queries.invalidateQueries({ queryKey: ["admin", "rules"] });
                void go("/admin/rules");
              }}
            />
          )}
          <Button type="submit" disabled={definition === null} loading={save.isPending}>
            {t("common.save")}
          </Button>
        </div>
      )}
    </form>
  );
}
