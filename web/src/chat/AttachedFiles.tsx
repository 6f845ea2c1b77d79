/** What goes along with the message that is being written. */
import { CloseButton, Progress, UnstyledButton } from "@mantine/core";
import { FileText, FolderUp } from "lucide-react";
import { useTexts } from "../i18n";
import { bytes } from "../renderers/data";
import type { Attachment } from "./attachments";
import css from "./Composer.module.css";

interface Props {
  attached: readonly Attachment[];
  /** On their way, one after another. */
  sending: readonly Attachment[];
  /** Bytes that have gone, by the id of the file. */
  sent: Readonly<Record<string, number>>;
  /** Stop all of them. */
  onStop: () => void;
  onChange: (attached: Attachment[]) => void;
}

export function AttachedFiles({ attached, sending, sent, onStop, onChange }: Props) {
  const { t } = useTexts();
  if (attached.length + sending.length === 0) return null;

  function replace(one: Attachment) {
    onChange(
      attached.map((other) =>
        other.id === one.id && other.upload !== null
          ? { ...other, upload: { ...other.upload, other: "replaced" } }
          : other,
      ),
    );
  }

  return (
    <ul className={css.attached}>
      {sending.map((one) => (
        <li key={one.id}>
          <SendingFile one={one} sent={sent[one.id] ?? 0} />
          <CloseButton
            size="xs"
            className={css.remove}
            aria-label={t("chat.file.stop", { name: one.name })}
            onClick={onStop}
          />
        </li>
      ))}
      {attached.map((one) => (
        <li key={one.id}>
          {one.preview === null ? (
            <FileChip one={one} onReplace={() => replace(one)} />
          ) : (
            <img src={one.preview} alt={one.name} />
          )}
          <CloseButton
            size="xs"
            className={css.remove}
            aria-label={t("chat.remove_file", { name: one.name })}
            onClick={() => onChange(attached.filter((other) => other.id !== one.id))}
          />
        </li>
      ))}
    </ul>
  );
}

function SendingFile({ one, sent }: { one: Attachment; sent: number }) {
  const { t, language } = useTexts();
  const total = one.upload?.file.size ?? 0;
  const size = (count: number) => bytes(Math.min(count, total), language);
  return (
    <span className={css.file} data-sending>
      <span className="foreign" role="status">
        {t("chat.file.sending", { name: one.name })}
      </span>
      <small>{t("chat.file.sent", { sent: size(sent), total: size(total) })}</small>
      <Progress
        className={css.sent}
        size="xs"
        value={total === 0 ? 100 : (100 * sent) / total}
        aria-label={t("chat.file.sending", { name: one.name })}
      />
    </span>
  );
}

function FileChip({ one, onReplace }: { one: Attachment; onReplace: () => void }) {
  const { t, language } = useTexts();
  const { upload } = one;
  if (upload === null) {
    return (
      <span className={css.file}>
        <FileText size={15} aria-hidden />
        <span className="foreign">{one.name}</span>
      </span>
    );
  }
  return (
    <span className={css.file} data-other={upload.other}>
      <FolderUp size={15} aria-label={t("chat.file.to_workspace")} role="img" />
      <span className="foreign">{one.name}</span>
      {upload.other === "asked" ? (
        <UnstyledButton
          className={css.replace}
          aria-label={t("chat.file.replace", { name: one.name })}
          onClick={onReplace}
        >
          {t("chat.file.replace_short")}
        </UnstyledButton>
      ) : (
        <small>
          {upload.other === "replaced"
            ? t("chat.file.replaced")
            : bytes(upload.file.size, language)}
        </small>
      )}
    </span>
  );
}
