/** A folder that tools work in. A wider root widens what they reach. */
import { Checkbox, TagsInput, TextInput } from "@mantine/core";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import type { FormEnds } from "../parts/EditDialog";
import { useFieldErrors } from "../parts/fieldErrors";
import { useFields } from "../parts/fields";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { AllowedHosts } from "./AllowedHosts";
import { linesOf } from "./hosts";

type Project = Schemas["AdminProject"];

export function ProjectForm({ project, ends }: { project: Project | null; ends: FormEnds }) {
  const { t } = useTexts();
  const { keeping, errorOf } = useFieldErrors();
  const { fields, put, text, tick, names } = useFields({
    name: project?.name ?? "",
    root: project?.root ?? "",
    ports: (project?.tcp_ports ?? []).map(String),
    hosts: (project?.allowed_hosts ?? []).join("\n"),
    unprotected: [...(project?.unprotected_paths ?? [])],
    restricted: project?.restrict_to_workspace ?? true,
    force: false,
  });
  const body = () => ({
    name: fields.name.trim(),
    root: fields.root.trim(),
    tcp_ports: fields.ports.map(Number),
    allowed_hosts: linesOf(fields.hosts),
    unprotected_paths: fields.unprotected,
    restrict_to_workspace: fields.restricted,
    ...(fields.force ? { force: true } : {}),
  });
  const hasPorts = fields.ports.length > 0;
  const hasHosts = linesOf(fields.hosts).length > 0;
  return (
    <SaveForm
      {...ends}
      label={t(project === null ? "common.create" : "common.save")}
      disabled={hasPorts && hasHosts}
      save={() =>
        keeping(() =>
          project === null
            ? data(api.POST("/api/v1/admin/projects", { body: body() }))
            : data(
                api.PATCH("/api/v1/admin/projects/{project_id}", {
                  params: { path: { project_id: project.id }, header: ifMatch(project.version) },
                  body: body(),
                }),
              ),
        )
      }
    >
      <div className={css.stack}>
        <TextInput data-autofocus label={t("field.name")} required {...text("name")} />
        <TextInput
          label={t("system.folder")}
          description={t("system.folder.help")}
          required
          {...text("root")}
        />
        <TagsInput
          label={t("system.ports")}
          description={t(hasHosts && !hasPorts ? "system.ports.closed" : "system.ports.help")}
          acceptValueOnBlur
          disabled={hasHosts && !hasPorts}
          {...names("ports")}
        />
        <AllowedHosts
          value={fields.hosts}
          onChange={(hosts) => put("hosts", hosts)}
          hasPorts={hasPorts}
          error={errorOf("allowed_hosts")}
        />
        <TagsInput
          label={t("system.unprotected")}
          description={t("system.unprotected.help")}
          acceptValueOnBlur
          {...names("unprotected")}
        />
        <Checkbox
          label={t("system.restricted")}
          description={t("system.restricted.help")}
          {...tick("restricted")}
        />
        <Checkbox label={t("system.force")} {...tick("force")} />
      </div>
    </SaveForm>
  );
}
