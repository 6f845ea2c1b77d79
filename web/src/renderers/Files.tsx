/** Files that a call has sent into the chat: pictures to look at, and all to download. */
import { Anchor } from "@mantine/core";
import { Download, FileText } from "lucide-react";
import { artifactUrl } from "../api/client";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { bytes, isObject, number, text } from "./data";
import css from "./renderers.module.css";

export interface SentFile {
  name: string;
  artifactId: string;
  size: number | null;
  isPicture: boolean;
}

export interface SentFiles {
  message: string;
  files: SentFile[];
}

export function FilesBody({ value }: { value: SentFiles }) {
  return (
    <div className={css.stack}>
      {value.message !== "" && <p className={`${css.words} foreign`}>{visible(value.message)}</p>}
      <Gallery files={value.files} />
    </div>
  );
}

export function Gallery({ files }: { files: readonly SentFile[] }) {
  return (
    <div className={css.gallery}>
      {files.map((file) => (
        <SentFileView key={file.artifactId} file={file} />
      ))}
    </div>
  );
}

function SentFileView({ file }: { file: SentFile }) {
  const { t, language } = useTexts();
  const address = artifactUrl(file.artifactId);
  return (
    <figure className={css.figure}>
      {file.isPicture && (
        <img
          src={address}
          alt={visible(file.name) || t("output.image")}
          loading="lazy"
          className={css.image}
        />
      )}
      <figcaption className={css.caption}>
        {!file.isPicture && <FileText size={14} aria-hidden />}
        <span className="foreign">{visible(file.name)}</span>
        <Anchor href={address} download={file.name} size="xs">
          <Download size={12} aria-hidden /> {t("output.download")}
          {file.size !== null && ` (${bytes(file.size, language)})`}
        </Anchor>
      </figcaption>
    </figure>
  );
}

/** Pictures of a result; null when there are none. */
export function readPictures(data: unknown): SentFile[] | null {
  return isObject(data) ? readList(data.images, () => true) : null;
}

/** What `send_media` has sent; null for anything else. */
export function readFiles(data: unknown): SentFiles | null {
  if (!isObject(data)) return null;
  const files = readList(data.attachments, (type) => type.startsWith("image/"));
  return files === null ? null : { message: text(data.message), files };
}

function readList(list: unknown, isPicture: (mediaType: string) => boolean): SentFile[] | null {
  if (!Array.isArray(list)) return null;
  const files = list
    .filter(isObject)
    .filter((one) => typeof one.artifact_id === "string")
    .map((one) => ({
      name: text(one.name),
      artifactId: text(one.artifact_id),
      size: number(one.size),
      isPicture: isPicture(text(one.media_type)),
    }));
  return files.length === 0 ? null : files;
}
