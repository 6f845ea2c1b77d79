/** The renderers that the browser has by itself. */
import { Table } from "@mantine/core";
import { Circle, CircleCheck, CircleDot, CircleX } from "lucide-react";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { asText, contentText, isObject, type Json, number, text } from "./data";
import {
  FilesBody,
  Gallery,
  readFiles,
  readPictures,
  type SentFile,
  type SentFiles,
} from "./Files";
import { countOf, FindingsBody, type Place, readFindings } from "./Findings";
import { JsonTree } from "./JsonTree";
import { Network } from "./Network";
import { type NetworkUse, readNetwork } from "./networkUse";
import { Output } from "./Output";
import { Registry } from "./registry";
import css from "./renderers.module.css";

interface Terminal {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  reason: string;
  network: readonly NetworkUse[];
}

function TerminalBody({ value }: { value: Terminal }) {
  const { t } = useTexts();
  return (
    <div className={css.stack}>
      {value.stdout !== "" && <Output text={value.stdout} label={t("output.stdout")} ansi />}
      {value.stderr !== "" && (
        <Output text={value.stderr} label={t("output.stderr")} ansi tone="bad" />
      )}
      {value.stdout === "" && value.stderr === "" && (
        <p className={css.quiet}>{t("output.empty")}</p>
      )}
      {value.exitCode !== null && value.exitCode !== 0 && (
        <p className={css.quiet}>{t("output.exit", { code: value.exitCode })}</p>
      )}
      {value.network.length > 0 && <Network rows={value.network} />}
    </div>
  );
}

function readTerminal(data: unknown): Terminal | null {
  if (!isObject(data)) return null;
  const hasText = ["stdout", "stderr", "output"].some((name) => typeof data[name] === "string");
  if (!hasText) return null;
  return {
    stdout: text(data.stdout) || text(data.output),
    stderr: text(data.stderr),
    exitCode: number(data.exit_code),
    reason: text(data.reason),
    network: readNetwork(data),
  };
}

function lastLine(value: string): string | null {
  const line = value.trimEnd().split("\n").at(-1)?.trim();
  return line === undefined || line === "" ? null : visible(line).slice(0, 160);
}

interface Diff {
  lines: string[];
  path: string;
  added: number | null;
  removed: number | null;
}

function DiffBody({ value }: { value: Diff }) {
  const { t } = useTexts();
  return (
    <div className={css.box}>
      <div className={css.scroll} tabIndex={0} role="group" aria-label={t("output.diff")}>
        <pre className={`${css.pre} foreign`} dir="ltr">
          {value.lines.slice(0, 2000).map((line, index) => (
            <span key={index} className={css.diffLine} data-kind={diffKind(line)}>
              {visible(line)}
              {"\n"}
            </span>
          ))}
        </pre>
      </div>
    </div>
  );
}

function diffKind(line: string): string | undefined {
  if (line.startsWith("+++") || line.startsWith("---")) return "file";
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : undefined;
}

const MAX_ROWS = 200;

function TableBody({ value }: { value: readonly Json[] }) {
  const { t } = useTexts();
  const columns = [...new Set(value.slice(0, MAX_ROWS).flatMap((row) => Object.keys(row)))];
  return (
    <div className={css.box}>
      <div className={css.scroll} tabIndex={0} role="group" aria-label={t("output.table")}>
        <Table className={css.table} stickyHeader>
          <Table.Thead>
            <Table.Tr>
              {columns.map((name) => (
                <Table.Th key={name}>{visible(name)}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {value.slice(0, MAX_ROWS).map((row, index) => (
              <Table.Tr key={index}>
                {columns.map((name) => (
                  <Table.Td key={name} className="foreign">
                    {visible(asText(row[name]).slice(0, 500))}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {value.length > MAX_ROWS && (
        <p className={css.quiet}>{t("output.rows", { shown: MAX_ROWS, count: value.length })}</p>
      )}
    </div>
  );
}

interface Todo {
  id: string;
  content: string;
  status: string;
}

const TODO_ICON = {
  completed: CircleCheck,
  in_progress: CircleDot,
  cancelled: CircleX,
} as const;

function TodoBody({ value }: { value: readonly Todo[] }) {
  const { t } = useTexts();
  return (
    <ul className={css.todos}>
      {value.map((todo) => {
        const Icon = TODO_ICON[todo.status as keyof typeof TODO_ICON] ?? Circle;
        const known =
          todo.status in TODO_ICON ? (todo.status as keyof typeof TODO_ICON) : "pending";
        return (
          <li key={todo.id} data-status={known}>
            <Icon size={16} aria-hidden />
            <span className="hidden-visually">{t(`todo.${known}`)}: </span>
            <span className="foreign">{visible(todo.content)}</span>
          </li>
        );
      })}
    </ul>
  );
}

function readTodos(data: unknown): Todo[] | null {
  const list = isObject(data) ? data.todos : data;
  if (!Array.isArray(list)) return null;
  const todos = list
    .filter(isObject)
    .filter((one) => typeof one.content === "string")
    .map((one, index) => ({
      id: text(one.id) || String(index),
      content: text(one.content),
      status: text(one.status),
    }));
  return todos.length === 0 || todos.length < list.length ? null : todos;
}

function TextBody({ value }: { value: string }) {
  const { t } = useTexts();
  return <Output text={value} label={t("output.text")} />;
}

export const renderers = new Registry()
  .register<string>({
    id: "default",
    types: ["*"],
    accepts: (_, call) => contentText(call.content) || null,
    Body: TextBody,
    summary: (value) => lastLine(value.split("\n")[0] ?? ""),
  })
  .register<unknown>({
    id: "json",
    types: ["json"],
    accepts: (data) => data ?? null,
    Body: ({ value }) => <JsonTree value={value} />,
  })
  .register<string>({
    id: "text",
    types: ["text"],
    accepts: (data) => (typeof data === "string" && data !== "" ? data : null),
    Body: TextBody,
    summary: (value) => lastLine(value.split("\n")[0] ?? ""),
  })
  .register<readonly Json[]>({
    id: "table",
    types: ["table"],
    accepts: (data) =>
      Array.isArray(data) && data.length > 0 && data.every(isObject) ? (data as Json[]) : null,
    Body: TableBody,
    summary: (rows) => `${rows.length} ×`,
  })
  .register<Diff>({
    id: "diff",
    types: ["diff"],
    accepts: (data) =>
      isObject(data) && typeof data.diff === "string" && data.diff !== ""
        ? {
            lines: data.diff.replace(/\n$/, "").split("\n"),
            path: text(data.path),
            added: number(data.added),
            removed: number(data.removed),
          }
        : null,
    Body: DiffBody,
    summary: (diff) => (diff.added === null ? null : `+${diff.added} −${diff.removed ?? 0}`),
  })
  .register<SentFile[]>({
    id: "image",
    types: ["image"],
    accepts: readPictures,
    Body: ({ value }) => <Gallery files={value} />,
  })
  .register<SentFiles>({
    id: "files",
    types: ["tool:send_media"],
    accepts: readFiles,
    Body: FilesBody,
    summary: ({ files }) => visible(files.map((file) => file.name).join(", ")).slice(0, 160),
  })
  .register<Place[]>({
    id: "findings",
    types: ["tool:web_search", "tool:search", "tool:file_search"],
    accepts: readFindings,
    Body: FindingsBody,
    summary: (places) => `${countOf(places)} ×`,
  })
  .register<Terminal>({
    id: "terminal",
    types: ["terminal"],
    accepts: readTerminal,
    Body: TerminalBody,
    summary: (value) => lastLine(value.stdout) ?? lastLine(value.stderr),
  })
  .register<Todo[]>({
    id: "todo",
    types: ["tool:todo", "tool:todo_write"],
    accepts: readTodos,
    Body: TodoBody,
    summary: (todos) =>
      `${todos.filter((todo) => todo.status === "completed").length} / ${todos.length}`,
  });
