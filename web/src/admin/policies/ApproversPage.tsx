/** Who approves what: policies, groups of approvers, and substitutes. */
import { Route } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Chips, Foreign, When } from "../parts/Bits";
import { EditDialog } from "../parts/EditDialog";
import { OnOff } from "../parts/OnOff";
import { Loaded, More, Page, Section } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { AllSubstitutes } from "../runs/Substitutes";
import { GroupForm } from "./GroupForm";
import { PolicyForm } from "./PolicyForm";
import { useConditions, useSelection, useStepWords } from "./policyWords";

type Group = Schemas["AdminApproverGroup"];
type Policy = Schemas["AdminApprovalPolicy"];

export default function ApproversPage() {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  return (
    <Page title={t("admin.approvers")} lead={a("lead")}>
      <Tabs
        label={t("admin.approvers")}
        tabs={[
          { to: "/admin/approvers", label: a("tab.policies") },
          { to: "/admin/approvers/groups", label: a("tab.groups") },
          { to: "/admin/approvers/substitutes", label: a("tab.substitutes") },
        ]}
      />
      <Sections>
        <Route index element={<Policies />} />
        <Route path="groups" element={<Groups />} />
        <Route path="substitutes" element={<AllSubstitutes />} />
      </Sections>
    </Page>
  );
}

function Policies() {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  const selection = useSelection();
  const stepWords = useStepWords();
  const conditions = useConditions();
  const policies = usePages<Policy>(["approval-policies"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/approval-policies", { params: { query } }));
    return { rows: page.policies, next: page.next_after };
  });
  const params = (policy: Policy) => ({
    path: { policy_id: policy.id },
    header: ifMatch(policy.version),
  });
  return (
    <Section
      title={a("tab.policies")}
      lead={a("policies.lead")}
      actions={
        <EditDialog label={a("policies.new")} isNew>
          {(ends) => <PolicyForm policy={null} ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={policies}>
        {(rows) => (
          <Table
            label={a("tab.policies")}
            rows={rows}
            id={(policy) => policy.id}
            empty={a("policies.empty")}
            columns={[
              {
                head: t("tools.on"),
                cell: (policy) => (
                  <OnOff
                    label={a("policies.switch", { name: policy.name })}
                    on={policy.enabled}
                    change={(enabled) =>
                      data(
                        api.PATCH("/api/v1/admin/approval-policies/{policy_id}", {
                          params: params(policy),
                          body: { enabled },
                        }),
                      )
                    }
                  />
                ),
              },
              { head: a("policies.position"), end: true, cell: (policy) => policy.position },
              {
                head: t("field.name"),
                wide: true,
                cell: (policy) => (
                  <>
                    <Foreign>{policy.name}</Foreign>
                    <span className={`${css.under} foreign`}>{selection(policy.applies_to)}</span>
                  </>
                ),
              },
              {
                head: a("policies.approvers"),
                cell: (policy) => (
                  <>
                    {policy.steps.map((step, index) => (
                      <div key={index} className="foreign">
                        {stepWords(step)}
                      </div>
                    ))}
                    {conditions(policy) !== "" && (
                      <span className={css.under}>{conditions(policy)}</span>
                    )}
                  </>
                ),
              },
              {
                head: t("field.actions"),
                cell: (policy) => (
                  <div className={css.actions}>
                    <EditDialog label={t("common.edit")} about={policy.name}>
                      {(ends) => <PolicyForm policy={policy} ends={ends} />}
                    </EditDialog>
                    <AskFirst
                      label={t("common.delete")}
                      about={policy.name}
                      what={a("policies.delete.what", { name: policy.name })}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/approval-policies/{policy_id}", {
                            params: params(policy),
                          }),
                        )
                      }
                      onDone={() => void policies.refetch()}
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={policies} />
    </Section>
  );
}

function Groups() {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  const groups = usePages<Group>(["approver-groups"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/approver-groups", { params: { query } }));
    return { rows: page.groups, next: page.next_after };
  });
  return (
    <Section
      title={a("tab.groups")}
      lead={a("groups.lead")}
      actions={
        <EditDialog label={a("groups.new")} isNew>
          {(ends) => <GroupForm group={null} ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={groups}>
        {(rows) => (
          <Table
            label={a("tab.groups")}
            rows={rows}
            id={(group) => group.id}
            empty={a("groups.empty")}
            columns={[
              {
                head: t("field.name"),
                wide: true,
                cell: (group) => (
                  <>
                    <Foreign>{group.name}</Foreign>
                    <span className={css.under}>
                      <Foreign mono>{group.id}</Foreign>
                    </span>
                  </>
                ),
              },
              { head: a("groups.members"), cell: (group) => <Chips values={group.members} /> },
              { head: t("field.changed"), cell: (group) => <When at={group.updated_at} /> },
              {
                head: t("field.actions"),
                cell: (group) => (
                  <div className={css.actions}>
                    <EditDialog label={t("common.edit")} about={group.name}>
                      {(ends) => <GroupForm group={group} ends={ends} />}
                    </EditDialog>
                    <AskFirst
                      label={t("common.delete")}
                      about={group.name}
                      what={a("groups.delete.what", { name: group.name })}
                      act={() =>
                        data(
                          api.DELETE("/api/v1/admin/approver-groups/{group_id}", {
                            params: {
                              path: { group_id: group.id },
                              header: ifMatch(group.version),
                            },
                          }),
                        )
                      }
                      onDone={() => void groups.refetch()}
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More query={groups} />
    </Section>
  );
}
