/** What was said, by whom; thoughts are folded. */
import { UnstyledButton } from "@mantine/core";
import { Brain, ChevronDown, ChevronRight, FileText, FolderUp } from "lucide-react";
import { lazy, memo, Suspense, useCallback, useId, useState } from "react";
import type { ContentBlock } from "../events/messages";
import type { Draft, Message } from "../events/model";
import { useTexts } from "../i18n";
import { bytes, text } from "../renderers/data";
import { Output } from "../renderers/Output";
import { visible, visibleProse } from "../shared/visible";
import { fileIn, referenceIn } from "./attachments";
import { MessageTools } from "./Branching";
import tools from "./Branching.module.css";
import css from "./Chat.module.css";
import { EditMessage } from "./EditMessage";
// With the page: a style sheet that failed once is not asked for again.
import "./Markdown.module.css";

const RETRY_MS = 2000;
const LazyMarkdown = lazy(loadMarkdown);

/** The words stand plainly meanwhile: a connection that is lost now must not take the page away. */
async function loadMarkdown(): Promise<typeof import("./Markdown")> {
  for (;;) {
    try {
      return await import("./Markdown");
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** The words as they stand until they can be drawn. */
function Markdown({ text: words, streaming = false }: { text: string; streaming?: boolean }) {
  const shown = visibleProse(words);
  return (
    <Suspense fallback={<p className={`${css.plain} foreign`}>{shown}</p>}>
      <LazyMarkdown text={shown} streaming={streaming} />
    </Suspense>
  );
}

export const MessageItem = memo(function MessageItem({ message }: { message: Message }) {
  const { content } = message;
  if (message.role === "user") {
    // What somebody ran themselves is on the call's card.
    const words = content.some((block) => block.type === "text" || block.type === "image");
    return words ? <OwnMessage message={message} /> : null;
  }
  const seen = content.some((block) => block.type === "text" || block.type === "thinking");
  return (
    <div className={tools.holder} data-tools={seen}>
      <AnswerItem content={content} />
      {seen && <MessageTools id={message.id} />}
    </div>
  );
});

function OwnMessage({ message }: { message: Message }) {
  const [editing, setEditing] = useState(false);
  const stop = useCallback(() => setEditing(false), []);
  if (editing) return <EditMessage message={message} onDone={stop} />;
  return (
    <div className={tools.holder} data-role="user" data-tools>
      <UserMessage content={message.content} />
      <MessageTools id={message.id} onEdit={() => setEditing(true)} />
    </div>
  );
}

/** What a model wrote, without anything that could be done with it. */
export const AnswerItem = memo(function AnswerItem({
  content,
}: {
  content: readonly ContentBlock[];
}) {
  return (
    <div className={css.answer}>
      {content.map((block, index) => {
        if (block.type === "text" && text(block.text).trim() !== "") {
          return <Markdown key={index} text={text(block.text)} />;
        }
        if (block.type === "thinking" && text(block.thinking) !== "") {
          return <Thinking key={index} words={text(block.thinking)} />;
        }
        return null;
      })}
    </div>
  );
});

/** The words of a user exactly as they were written. */
export function UserMessage({
  content,
  children,
}: {
  content: readonly ContentBlock[];
  children?: React.ReactNode;
}) {
  const { t } = useTexts();
  return (
    <div className={css.said}>
      <h2 className="hidden-visually">{t("chat.you")}</h2>
      <div className={css.bubble} dir="auto">
        {content.map((block, index) => {
          if (block.type !== "text") return <Picture key={index} block={block} />;
          const reference = referenceIn(block);
          if (reference !== null) return <WorkspaceFile key={index} {...reference} />;
          const file = fileIn(block);
          return file === null ? (
            <p key={index} className="foreign">
              {visibleProse(text(block.text))}
            </p>
          ) : (
            <AttachedFile key={index} file={file} />
          );
        })}
        {children}
      </div>
    </div>
  );
}

/** A text file that went along, folded: its name says enough most of the time. */
function AttachedFile({ file }: { file: { name: string; words: string } }) {
  const [open, setOpen] = useState(false);
  const panel = useId();
  const Arrow = open ? ChevronDown : ChevronRight;
  return (
    <div className={css.file}>
      <UnstyledButton
        className={css.fold}
        aria-expanded={open}
        aria-controls={panel}
        onClick={() => setOpen(!open)}
      >
        <FileText size={15} aria-hidden />
        <span className="foreign">{visible(file.name)}</span>
        <Arrow size={14} aria-hidden />
      </UnstyledButton>
      <div id={panel} hidden={!open}>
        {open && <Output text={file.words} label={visible(file.name)} />}
      </div>
    </div>
  );
}

/** A file that went into the workspace: the path is what tools call it. */
function WorkspaceFile({ path, size }: { path: string; size: number }) {
  const { t, language } = useTexts();
  return (
    <p className={css.placed}>
      <FolderUp size={15} aria-label={t("chat.file.in_workspace")} role="img" />
      <span className="foreign">{visible(path)}</span>
      <small>{bytes(size, language)}</small>
    </p>
  );
}

function Picture({ block }: { block: ContentBlock }) {
  const { t } = useTexts();
  const source = block.source as { type?: string; media_type?: string; data?: string } | undefined;
  if (block.type !== "image" || source?.type !== "base64") return null;
  const fits = /^image\/(?:png|jpeg|gif|webp)$/.test(source.media_type ?? "");
  if (!fits) return null;
  return (
    <img
      className={css.picture}
      src={`data:${source.media_type};base64,${source.data}`}
      alt={t("chat.attached")}
    />
  );
}

/** A message that is being written. */
export function DraftItem({ draft }: { draft: Draft }) {
  const { t } = useTexts();
  return (
    <div className={css.answer} data-testid="draft">
      {draft.thinking !== "" && <Thinking words={draft.thinking} live={draft.text === ""} />}
      {draft.text !== "" && <Markdown text={draft.text} streaming />}
      {draft.writing !== null && (
        <p className={css.writing}>
          {t("chat.writing_call", { tool: draft.writing.tool })}
          <span className={css.dots} aria-hidden />
        </p>
      )}
    </div>
  );
}

function Thinking({ words, live = false }: { words: string; live?: boolean }) {
  const { t } = useTexts();
  const [open, setOpen] = useState(false);
  const Arrow = open ? ChevronDown : ChevronRight;
  return (
    <div className={css.thinking}>
      <UnstyledButton className={css.fold} aria-expanded={open} onClick={() => setOpen(!open)}>
        <Brain size={15} aria-hidden />
        {t(live ? "chat.thinking_now" : "chat.thinking")}
        {live && <span className={css.dots} aria-hidden />}
        <Arrow size={14} aria-hidden />
      </UnstyledButton>
      {open && <p className={`${css.thought} foreign`}>{visibleProse(words)}</p>}
    </div>
  );
}
