/** A message of one's own, said anew in another way; what was said stays on its branch. */
import { Button, Textarea } from "@mantine/core";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { api, data } from "../api/client";
import { branchesOf } from "../events/branches";
import type { ContentBlock } from "../events/messages";
import type { Message } from "../events/model";
import { useTexts } from "../i18n";
import { text } from "../renderers/data";
import { useConnection } from "../shell/identity";
import { notifyError } from "../shell/notify";
import { isFile } from "./attachments";
import { useGoTo } from "./Branching";
import css from "./Branching.module.css";
import { say } from "./outbox";
import { useSession, useThisFeed } from "./useSession";

export function EditMessage({ message, onDone }: { message: Message; onDone: () => void }) {
  const { t } = useTexts();
  const feed = useThisFeed();
  const sessionId = feed.id;
  const connection = useConnection();
  const goTo = useGoTo();
  const idle = useSession((session) => session.active.length === 0);
  const [content, setContent] = useState<readonly ContentBlock[] | null>(
    isWhole(message.content) ? message.content : null,
  );
  const [words, setWords] = useState(wordsOf(message.content));
  const [busy, setBusy] = useState(false);
  const locked = useRef(false);
  const field = useRef<HTMLTextAreaElement>(null);

  // The event holds no pictures, and long texts are cut in it: the stored message is whole.
  useEffect(() => {
    if (content !== null) return;
    let gone = false;
    storedContent(sessionId, message.id)
      .then((found) => {
        if (gone) return;
        setContent(found);
        setWords(wordsOf(found));
      })
      .catch((error) => {
        if (gone) return;
        notifyError(error);
        onDone();
      });
    return () => {
      gone = true;
    };
  }, [content, sessionId, message.id, onDone]);

  useEffect(() => {
    if (content === null) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [content]);

  const pictures = (content ?? []).filter((block) => block.type !== "text");
  const files = (content ?? []).filter(isFile);
  const said = words.trim();
  const ready =
    idle && content !== null && !busy && (said !== "" || pictures.length + files.length > 0);

  async function send() {
    // The state comes with the next drawing; two keys can come before it.
    if (!ready || locked.current) return;
    locked.current = true;
    setBusy(true);
    try {
      // What the first loaded message hangs on is known only with what is before it.
      await feed.complete();
      await goTo(branchesOf(feed.store.getState().session).before(message.id));
      say(connection, sessionId, [
        ...pictures,
        ...(said === "" ? [] : [{ type: "text", text: said }]),
        ...files,
      ]);
      onDone();
    } catch (error) {
      notifyError(error);
      locked.current = false;
      setBusy(false);
    }
  }

  function press(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send();
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      onDone();
    }
  }

  return (
    <div className={css.edit}>
      <Textarea
        ref={field}
        autosize
        minRows={1}
        maxRows={12}
        aria-label={t("branch.edit.label")}
        value={words}
        disabled={content === null}
        // A key meant for these words answers no question, however few of them are left.
        data-own-keys
        onChange={(event) => setWords(event.currentTarget.value)}
        onKeyDown={press}
        classNames={{ input: css.words ?? "" }}
      />
      <div className={css.buttons}>
        <p className={css.hint}>{t(idle ? "branch.edit.hint" : "branch.edit.busy")}</p>
        <Button size="xs" variant="default" onClick={onDone}>
          {t("common.cancel")}
        </Button>
        <Button size="xs" disabled={!ready} loading={busy} onClick={() => void send()}>
          {t("branch.edit.send")}
        </Button>
      </div>
    </div>
  );
}

function wordsOf(content: readonly ContentBlock[]): string {
  return content
    .filter((block) => block.type === "text" && !isFile(block))
    .map((block) => text(block.text))
    .join("\n\n");
}

function isWhole(content: readonly ContentBlock[]): boolean {
  return content.every((block) => block.type === "text" && block.truncated !== true);
}

async function storedContent(sessionId: string, messageId: string): Promise<ContentBlock[]> {
  const params = { path: { session_id: sessionId }, query: { tree: true } };
  const { messages } = await data(api.GET("/api/v1/sessions/{session_id}/messages", { params }));
  const found = messages.find((one) => one.id === messageId);
  if (found === undefined) throw new Error("the message is gone");
  return found.content;
}
