/** A run that begins by the clock: what it is told, when, and as whom. */
import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import type { FormEnds } from "../parts/EditDialog";
import { changedOf, type Digits, textOf, useFields } from "../parts/fields";
import { NumberField } from "../parts/NumberField";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";

type Schedule = Schemas["ScheduleView"];
type Way = "cron" | "every_seconds" | "at";
const WAYS: readonly Way[] = ["cron", "every_seconds", "at"];

interface Fields {
  name: string;
  prompt: string;
  way: string;
  cron: string;
  seconds: Digits;
  at: string;
  timezone: string;
  missed: string;
  session: string;
  expires: string;
}

function bodyOf(fields: Fields) {
  const when = {
    cron: { cron: fields.cron.trim() },
    every_seconds: { every_seconds: Number(fields.seconds) },
    at: { at: fields.at.trim() },
  }[fields.way as Way];
  return {
    name: fields.name.trim(),
    prompt: fields.prompt,
    timezone: textOf(fields.timezone),
    missed: fields.missed as Schedule["missed"],
    session: fields.session as Schedule["session"],
    expires_at: textOf(fields.expires),
    ...when,
  };
}

export function ScheduleForm({ schedule, ends }: { schedule: Schedule | null; ends: FormEnds }) {
  const { t } = useTexts();
  const stored = WAYS.find((way) => schedule?.[way] != null) ?? "cron";
  const shown = {
    name: schedule?.name ?? "",
    prompt: schedule?.prompt ?? "",
    way: stored as string,
    cron: schedule?.cron ?? "0 9 * * mon-fri",
    seconds: (schedule?.every_seconds ?? 3600) as Digits,
    at: schedule?.at ?? "",
    timezone: schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    missed: (schedule?.missed ?? "skip") as string,
    session: (schedule?.session ?? "fresh") as string,
    expires: schedule?.expires_at ?? "",
    owner: "",
    agent: "",
    project: "",
  };
  const { fields, text, digits } = useFields(shown);
  const body = bodyOf(fields);
  return (
    <SaveForm
      {...ends}
      label={t(schedule === null ? "common.create" : "common.save")}
      save={() =>
        schedule === null
          ? data(
              api.POST("/api/v1/admin/schedules", {
                body: {
                  ...body,
                  owner: textOf(fields.owner),
                  agent_id: textOf(fields.agent),
                  project_id: textOf(fields.project),
                },
              }),
            )
          : data(
              api.PATCH("/api/v1/admin/schedules/{schedule_id}", {
                params: { path: { schedule_id: schedule.id }, header: ifMatch(schedule.version) },
                // A time that is said again counts from now.
                body: changedOf(bodyOf(shown), body),
              }),
            )
      }
    >
      <div className={css.stack}>
        <TextInput
          data-autofocus
          label={t("field.name")}
          required
          maxLength={100}
          {...text("name")}
        />
        <Textarea
          label={t("schedules.prompt")}
          required
          autosize
          minRows={3}
          maxRows={12}
          {...text("prompt")}
        />
        <NativeSelect
          label={t("schedules.when")}
          {...text("way")}
          data={WAYS.map((value) => ({ value, label: t(`schedules.way.${value}`) }))}
        />
        {fields.way === "cron" && (
          <TextInput
            label={t("schedules.cron")}
            description={t("schedules.cron.help")}
            classNames={{ input: "mono" }}
            required
            {...text("cron")}
          />
        )}
        {fields.way === "every_seconds" && (
          <NumberField
            label={t("schedules.seconds")}
            required
            min={1}
            max={31_536_000}
            {...digits("seconds")}
          />
        )}
        {fields.way === "at" && (
          <TextInput
            label={t("schedules.at")}
            description={t("schedules.at.help")}
            required
            {...text("at")}
          />
        )}
        <TextInput
          label={t("schedules.zone")}
          description={t("schedules.zone.help")}
          {...text("timezone")}
        />
        <NativeSelect
          label={t("schedules.missed")}
          {...text("missed")}
          data={(["skip", "once"] as const).map((value) => ({
            value,
            label: t(`schedules.missed.${value}`),
          }))}
        />
        <NativeSelect
          label={t("field.session")}
          {...text("session")}
          data={(["fresh", "continue"] as const).map((value) => ({
            value,
            label: t(`schedules.session.${value}`),
          }))}
        />
        <TextInput
          label={t("field.until")}
          description={t("schedules.at.help")}
          {...text("expires")}
        />
        {schedule === null && (
          <>
            <TextInput
              label={t("field.owner")}
              description={t("schedules.owner.help")}
              {...text("owner")}
            />
            <TextInput label={t("field.agent")} {...text("agent")} />
            <TextInput label={t("field.project")} {...text("project")} />
          </>
        )}
      </div>
    </SaveForm>
  );
}
