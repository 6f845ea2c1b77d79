/** A channel: to which groups agents may write, and how their texts are marked. */
import { NativeSelect, Switch, TagsInput, TextInput } from "@mantine/core";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { isObject, text as textIn } from "../../renderers/data";
import { AllOrSome } from "../parts/AllOrSome";
import type { FormEnds } from "../parts/EditDialog";
import { type Digits, numberOf, useFields } from "../parts/fields";
import { NumberField } from "../parts/NumberField";
import { ifMatch } from "../parts/pages";
import css from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";

type Channel = Schemas["AdminChannel"];

const MARKS = ["suffix", "zero-width", "none"] as const;
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const listOrAll = (value: unknown): string[] | null => (Array.isArray(value) ? list(value) : null);

export function ChannelForm({ channel, ends }: { channel: Channel | null; ends: FormEnds }) {
  const { t } = useTexts();
  const stored: unknown = channel?.config.weixinReply;
  const reply = isObject(stored) ? stored : {};
  const { fields, put, text, digits, tick, names } = useFields({
    name: channel?.name ?? "",
    replies: reply.enabled === true,
    auto: reply.autoReply === true,
    targets: list(reply.targets),
    agents: listOrAll(reply.agents),
    operators: listOrAll(reply.operators),
    watermark: textIn(reply.watermark) || "suffix",
    force: reply.forceWatermark === true,
    suffix: textIn(reply.suffix) || "[AI]",
    rate: (typeof reply.perMinute === "number" ? reply.perMinute : "") as Digits,
    enabled: channel?.enabled ?? true,
  });
  const body = () => ({
    name: fields.name.trim(),
    enabled: fields.enabled,
    config: {
      weixinReply: {
        enabled: fields.replies,
        autoReply: fields.auto,
        targets: fields.targets,
        agents: fields.agents,
        operators: fields.operators,
        watermark: fields.watermark,
        forceWatermark: fields.force,
        suffix: fields.suffix,
        perMinute: numberOf(fields.rate),
      },
    } as unknown as NonNullable<Schemas["ChannelChange"]["config"]>,
  });
  return (
    <SaveForm
      {...ends}
      label={t(channel === null ? "common.create" : "common.save")}
      save={() =>
        channel === null
          ? data(api.POST("/api/v1/admin/channels", { body: { ...body(), kind: "weixin" } }))
          : data(
              api.PATCH("/api/v1/admin/channels/{channel_id}", {
                params: { path: { channel_id: channel.id }, header: ifMatch(channel.version) },
                body: body(),
              }),
            )
      }
    >
      <div className={css.stack}>
        <TextInput data-autofocus label={t("field.name")} required {...text("name")} />
        <Switch label={t("channels.replies")} {...tick("replies")} />
        <TagsInput
          label={t("channels.targets")}
          description={t("channels.targets.help")}
          acceptValueOnBlur
          {...names("targets")}
        />
        <Switch
          label={t("channels.auto")}
          description={t("channels.auto.help")}
          {...tick("auto")}
        />
        <AllOrSome
          label={t("channels.agents")}
          all={t("channels.agents.all")}
          some={t("agents.selection.some")}
          list={t("channels.agents.list")}
          proposed={[]}
          value={fields.agents}
          onChange={(value) => put("agents", value)}
        />
        <AllOrSome
          label={t("channels.operators")}
          all={t("channels.operators.all")}
          some={t("agents.selection.some")}
          list={t("channels.operators.list")}
          proposed={[]}
          value={fields.operators}
          onChange={(value) => put("operators", value)}
        />
        <NativeSelect
          label={t("channels.watermark")}
          {...text("watermark")}
          data={MARKS.map((value) => ({ value, label: t(`channels.watermark.${value}`) }))}
        />
        <TextInput label={t("channels.suffix")} required maxLength={100} {...text("suffix")} />
        <Switch label={t("channels.force")} {...tick("force")} />
        <NumberField label={t("channels.rate")} min={1} max={600} {...digits("rate")} />
        <Switch label={t("sources.enabled")} {...tick("enabled")} />
      </div>
    </SaveForm>
  );
}
