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
import { linesOf, withHost } from "./hosts";

type Project = Schemas["AdminProject"];

interface Props {
  project: Project | null;
  /** A host to add to those that are allowed. */
  allow?: string;
  ends: FormEnds;
}

export function ProjectForm({ project, allow, ends }: Props) {
  const { t } = useTexts();
  const { keeping, errorOf } = useFieldErrors();
  const listed = (project?.allowed_hosts ?? []).join("\n");
  // All but the hosts of the project from the settings is changed there.
  const isGiven = project !== null && !project.stored;
  const given = isGiven ? { readOnly: true, classNames: { input: css.given ?? "" } } : {};
  const help = (text: string) => (isGiven ? undefined : text);
  const empty = isGiven ? t("common.none") : "";
  const { fields, put, text, tick, names } = useFields({
    name: project?.name ?? "",
    root: project?.root ?? "",
    ports: (project?.tcp_ports ?? []).map(String),
    hosts: allow === undefined ? listed : withHost(listed, allow),
    unprotected: [...(project?.unprotected_paths ?? [])],
    restricted: project?.restrict_to_workspace ?? true,
    force: false,
  });
  const body = () => ({
    name: fields.name.trim(),
    root: fields.root.trim(),
    tcp_ports: fields.ports.map(Number),
    ...hosts(),
    unprotected_paths: fields.unprotected,
    restrict_to_workspace: fields.restricted,
    ...(fields.force ? { force: true } : {}),
  });
  const hosts = () => ({ allowed_hosts: linesOf(fields.hosts) });
  const hasPorts = fields.ports.length > 0;
  const hasHosts = linesOf(fields.hosts).length > 0;
  const isClosed = hasHosts && !hasPorts && !isGiven;
  return (
    <SaveForm
      {...ends}
      label={t(project === null ? "common.create" : "common.save")}
      disabled={hasPorts && (hasHosts || isGiven)}
      save={() =>
        keeping(() =>
          project === null
            ? data(api.POST("/api/v1/admin/projects", { body: body() }))
            : data(
                api.PATCH("/api/v1/admin/projects/{project_id}", {
                  params: { path: { project_id: project.id }, header: ifMatch(project.version) },
                  body: isGiven ? hosts() : body(),
                }),
              ),
        )
      }
    >
      <div className={css.stack}>
        {isGiven && <p className={css.note}>{t("system.project.given")}</p>}
        <TextInput
          data-autofocus={allow === undefined && !isGiven ? true : undefined}
          label={t("field.name")}
          required={!isGiven}
          {...given}
          {...text("name")}
        />
        <TextInput
          label={t("system.folder")}
          description={help(t("system.folder.help"))}
          required={!isGiven}
          {...given}
          {...text("root")}
        />
        <TagsInput
          label={t("system.ports")}
          description={help(t(isClosed ? "system.ports.closed" : "system.ports.help"))}
          acceptValueOnBlur
          disabled={isClosed}
          placeholder={fields.ports.length === 0 ? empty : ""}
          {...given}
          {...names("ports")}
        />
        <AllowedHosts
          isFirst={allow !== undefined || isGiven}
          value={fields.hosts}
          onChange={(hosts) => put("hosts", hosts)}
          hasPorts={hasPorts}
          error={errorOf("allowed_hosts")}
        />
        <TagsInput
          label={t("system.unprotected")}
          description={help(t("system.unprotected.help"))}
          acceptValueOnBlur
          placeholder={fields.unprotected.length === 0 ? empty : ""}
          {...given}
          {...names("unprotected")}
        />
        <Checkbox
          label={t("system.restricted")}
          description={help(t("system.restricted.help"))}
          disabled={isGiven}
          {...tick("restricted")}
        />
        {!isGiven && <Checkbox label={t("system.force")} {...tick("force")} />}
      </div>
    </SaveForm>
  );
}
