/** A group of approvers: its name and its members. */
import { TextInput } from "@mantine/core";
import { api, data, type Schemas } from "../../api/client";
import { useTexts, useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import type { FormEnds } from "../parts/EditDialog";
import { useFields } from "../parts/fields";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { UsersInput } from "../runs/Substitutes";

type Group = Schemas["AdminApproverGroup"];

export function GroupForm({ group, ends }: { group: Group | null; ends: FormEnds }) {
  const { t } = useTexts();
  const a = useTextsOf(approvers);
  const { fields, text, names } = useFields({
    id: "",
    name: group?.name ?? "",
    members: group?.members ?? [],
  });
  const body = () => ({ name: fields.name.trim(), members: fields.members });
  return (
    <SaveForm
      {...ends}
      label={t(group === null ? "common.create" : "common.save")}
      save={() =>
        group === null
          ? data(
              api.POST("/api/v1/admin/approver-groups", {
                body: { ...body(), ...(fields.id === "" ? {} : { id: fields.id.trim() }) },
              }),
            )
          : data(
              api.PATCH("/api/v1/admin/approver-groups/{group_id}", {
                params: { path: { group_id: group.id }, header: ifMatch(group.version) },
                body: body(),
              }),
            )
      }
    >
      <div className={css.stack}>
        <TextInput
          data-autofocus
          label={t("field.name")}
          required
          maxLength={200}
          {...text("name")}
        />
        {group === null && (
          <TextInput
            label={a("groups.id")}
            description={a("groups.id.help")}
            maxLength={64}
            {...text("id")}
          />
        )}
        <UsersInput
          label={a("groups.members")}
          description={a("groups.members.help")}
          {...names("members")}
        />
      </div>
    </SaveForm>
  );
}
