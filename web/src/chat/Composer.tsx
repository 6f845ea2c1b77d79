/** Where the person writes: messages, slash commands, files. */
import { ActionIcon, Textarea, Tooltip } from "@mantine/core";
import { ArrowUp, Paperclip, Square } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  lazy,
  type RefObject,
  Suspense,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { newCommandId } from "../events/connection";
import type { ContentBlock } from "../events/messages";
import { useTexts } from "../i18n";
import { toolAbout } from "../i18n/toolWords";
import { useConnection, useIdentity } from "../shell/identity";
import { notifyError } from "../shell/notify";
import { AttachedFiles } from "./AttachedFiles";
import { type Attachment, mustFit, readFiles } from "./attachments";
import css from "./Composer.module.css";
import { type Draft, draftAt, keepDraft, together, useDraftAt } from "./drafts";
import { matching, type ToolRow, useTools } from "./tools";
import { OtherFileThere, type Sending } from "./uploads";

interface Props {
  /** Whose draft it is: a session's id, or `NEW_SESSION`. */
  place: string;
  /** A run is active, which can be stopped. */
  active: boolean;
  busy: boolean;
  /** Say it, once the files are in the workspace. What a rejection leaves unsaid comes back. */
  onSay: (content: ContentBlock[], files: readonly Attachment[], sending: Sending) => Promise<void>;
  /** The same call again has the same id: one that was carried out is not carried out twice. */
  onCall: (tool: string, args: Record<string, unknown>, id: string) => Promise<void>;
  onStop: () => void;
  children?: React.ReactNode;
}

/** Few messages call a tool by name. */
const ToolForm = lazy(async () => ({ default: (await import("./ToolForm")).ToolForm }));
const SLASH = /^\/([\w\p{L}-]*)$/u;
const SHOWN = 40;

export function Composer({ place, active, busy, onSay, onCall, onStop, children }: Props) {
  const { t } = useTexts();
  const { words, attached, latest, keep } = useDraft(place);
  const { me } = useIdentity();
  const [sending, setSending] = useState<readonly Attachment[]>([]);
  const [sent, setSent] = useState<Readonly<Record<string, number>>>({});
  const stop = useRef(new AbortController());
  const [reading, setReading] = useState(0);
  const [tool, setTool] = useState<ToolRow | null>(null);
  const [calling, setCalling] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const slash = SLASH.exec(words);
  const isEmpty = words === "" && attached.length === 0;
  useFocusWhenFree(field);
  const attempt = useAttempt();
  const menu = useSlashMenu(slash?.[1] ?? null, choose);

  function choose(chosen: ToolRow) {
    setTool(chosen);
    keep({ words: "" });
  }

  function send() {
    const said = words.trim();
    // A file that is still read would be left behind, and one on its way overtaken.
    if ((said === "" && attached.length === 0) || busy || reading > 0 || sending.length > 0) return;
    const uploads = attached.filter((one) => one.upload !== null);
    const unsent = latest();
    keep({ words: "", attached: [] });
    setSending(uploads);
    setSent({});
    stop.current = new AbortController();
    const onSent = (id: string, bytes: number) => setSent((all) => ({ ...all, [id]: bytes }));
    // The words come before the files: they make the title of a new session.
    const content: ContentBlock[] = [
      ...blocksOf(attached.filter((one) => one.preview !== null)),
      ...(said === "" ? [] : [{ type: "text", text: said }]),
      ...blocksOf(attached.filter((one) => one.preview === null)),
    ];
    onSay(content, uploads, { onSent, signal: stop.current.signal })
      .catch((error: unknown) => {
        if (!stop.current.signal.aborted) notifyError(error);
        keep(together(asked(unsent, error), latest()));
      })
      .finally(() => setSending([]));
  }

  function press(event: KeyboardEvent) {
    // While a Chinese word is being composed, Enter takes it.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (menu.press(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !(event.ctrlKey && isEmpty)) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape" && active && words === "") onStop();
  }

  async function attach(files: Iterable<File>) {
    setReading((count) => count + 1);
    try {
      const added = await readFiles(files, me?.max_upload_bytes ?? 0);
      // Files that came while these were read must fit beside them.
      const all = [...latest().attached, ...added];
      mustFit(all);
      keep({ attached: all });
    } catch (error) {
      notifyError(error);
    } finally {
      setReading((count) => count - 1);
    }
  }

  function paste(event: ClipboardEvent) {
    const files = [...event.clipboardData.files].filter((one) => one.type.startsWith("image/"));
    if (files.length > 0) {
      event.preventDefault();
      void attach(files);
    }
  }

  function drop(event: DragEvent) {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    // The list is emptied as soon as the event is over.
    void attach([...event.dataTransfer.files]);
  }

  async function run(args: Record<string, unknown>) {
    if (tool === null) return;
    setCalling(true);
    try {
      await onCall(tool.name, args, attempt.idOf(JSON.stringify([tool.name, args])));
      attempt.over();
      setTool(null);
      field.current?.focus();
    } catch (error) {
      notifyError(error);
    } finally {
      setCalling(false);
    }
  }

  return (
    <div className={css.whole}>
      {tool !== null && (
        <Suspense fallback={null}>
          <ToolForm
            key={tool.name}
            tool={tool}
            busy={calling}
            onRun={(args) => void run(args)}
            onCancel={() => {
              setTool(null);
              field.current?.focus();
            }}
          />
        </Suspense>
      )}
      {menu.list}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: files can be dropped; the button does the same */}
      <div className={css.box} onDrop={drop} onDragOver={(event) => event.preventDefault()}>
        <AttachedFiles
          attached={attached}
          sending={sending}
          sent={sent}
          onStop={() => stop.current.abort()}
          onChange={(changed) => keep({ attached: changed })}
        />
        <Textarea
          ref={field}
          variant="unstyled"
          autosize
          minRows={1}
          maxRows={12}
          aria-label={t("chat.message")}
          data-composer
          placeholder={t("chat.placeholder")}
          value={words}
          onChange={(event) => keep({ words: event.currentTarget.value })}
          onKeyDown={press}
          onPaste={paste}
          classNames={{ input: css.input ?? "" }}
          {...menu.field}
        />
        <div className={css.foot}>
          <input
            ref={file}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              void attach([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }}
          />
          <Tooltip label={t("chat.attach")}>
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={t("chat.attach")}
              onClick={() => file.current?.click()}
            >
              <Paperclip size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
          <div className={css.extra}>{children}</div>
          {active && (
            <Tooltip label={t("chat.stop")}>
              <ActionIcon
                variant="default"
                size="lg"
                radius="xl"
                aria-label={t("chat.stop")}
                onClick={onStop}
              >
                <Square size={15} aria-hidden fill="currentColor" />
              </ActionIcon>
            </Tooltip>
          )}
          <Tooltip label={t("chat.send")}>
            <ActionIcon
              size="lg"
              radius="xl"
              aria-label={t("chat.send")}
              loading={busy || sending.length > 0}
              disabled={reading > 0 || (words.trim() === "" && attached.length === 0)}
              onClick={send}
            >
              <ArrowUp size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </div>
      </div>
    </div>
  );
}

const blocksOf = (attached: readonly Attachment[]): ContentBlock[] =>
  attached.map((one) => one.block).filter((block) => block !== null);

/** The draft, with the question whether a file may replace the one that is there. */
function asked(draft: Draft, error: unknown): Draft {
  if (!(error instanceof OtherFileThere)) return draft;
  const attached = draft.attached.map((one) =>
    one.id === error.id && one.upload !== null
      ? { ...one, upload: { ...one.upload, other: "asked" as const } }
      : one,
  );
  return { ...draft, attached };
}

/** One id for what is tried again, until it has succeeded or something else is tried. */
function useAttempt() {
  const attempt = useRef({ what: "", id: "" });
  return {
    idOf(what: string): string {
      if (attempt.current.what !== what) attempt.current = { what, id: newCommandId() };
      return attempt.current.id;
    },
    over() {
      attempt.current = { what: "", id: "" };
    },
  };
}

/** What is being written at a place; it is there again for whoever comes back. */
function useDraft(place: string) {
  const connection = useConnection();
  const draft = useDraftAt(connection, place);
  const latest = () => draftAt(connection, place);
  const keep = (change: Partial<Draft>) => keepDraft(connection, place, { ...latest(), ...change });
  return { ...draft, latest, keep };
}

/** Whoever comes to write can write: unless the focus is somewhere, or would bring up a keyboard. */
function useFocusWhenFree(field: RefObject<HTMLTextAreaElement | null>) {
  useEffect(() => {
    const free = document.activeElement === null || document.activeElement === document.body;
    if (free && matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [field]);
}

/** The list of tools below a `/`: a listbox that the text field drives. */
function useSlashMenu(typed: string | null, onChoose: (tool: ToolRow) => void) {
  const { t, language } = useTexts();
  const id = useId();
  const tools = useTools(typed !== null);
  const [at, setAt] = useState(0);
  const [dismissed, setDismissed] = useState<string | null>(null);
  const found = typed === null ? [] : matching(tools.data ?? [], typed, language).slice(0, SHOWN);
  const open = typed !== null && dismissed !== typed && found.length > 0;
  const index = Math.min(at, Math.max(0, found.length - 1));
  const optionId = (name: string) => `${id}-${name}`;

  function press(event: KeyboardEvent): boolean {
    if (!open) return false;
    const chosen = found[index];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const by = event.key === "ArrowDown" ? 1 : -1;
      const next = (index + by + found.length) % found.length;
      setAt(next);
      const name = found[next]?.name;
      if (name !== undefined) {
        document.getElementById(optionId(name))?.scrollIntoView({ block: "nearest" });
      }
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen !== undefined)
      onChoose(chosen);
    else if (event.key === "Escape") setDismissed(typed);
    else return false;
    event.preventDefault();
    return true;
  }

  const current = found[index];
  return {
    press,
    field: open
      ? {
          "aria-haspopup": "listbox" as const,
          "aria-controls": id,
          "aria-autocomplete": "list" as const,
          "aria-activedescendant": current === undefined ? undefined : optionId(current.name),
        }
      : {},
    list: open && (
      <div id={id} role="listbox" tabIndex={0} aria-label={t("tool.list")} className={css.menu}>
        {found.map((tool, position) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the text field keeps the focus
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field drives it by keyboard
          <div
            key={tool.name}
            id={optionId(tool.name)}
            role="option"
            aria-selected={position === index}
            className={css.option}
            onClick={() => onChoose(tool)}
          >
            <b className="mono">/{tool.name}</b>
            <span className={css.about}>{toolAbout(language, tool.name, tool.description)}</span>
          </div>
        ))}
      </div>
    ),
  };
}
