/** What goes along with the message that is being written. */
import { CloseButton, Loader, UnstyledButton } from "@mantine/core";
import { FileText, FolderUp } from "lucide-react";
import { useTexts } from "../i18n";
import { bytes } from "../renderers/data";
import type { Attachment } from "./attachments";
import css from "./Composer.module.css";

interface Props {
  attached: readonly Attachment[];
  /** On their way: they cannot be taken back any more. */
  sending: readonly Attachment[];
  onChange: (attached: Attachment[]) => void;
}

export function AttachedFiles({ attached, sending, onChange }: Props) {
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
        <li key={one.id} role="status">
          <span className={css.file}>
            <Loader size={13} aria-hidden />
            <span className="foreign">{t("chat.file.sending", { name: one.name })}</span>
          </span>
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
