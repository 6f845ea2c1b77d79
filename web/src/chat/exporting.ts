/** A session as a file. */
import { shownItems } from "../events/branches";
import type { SessionState } from "../events/model";
import { contentText, text } from "../renderers/data";

export function saveFile(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** What was said and what was called, for people. */
export function asMarkdown(title: string, session: SessionState): string {
  const parts = [`# ${title}`];
  for (const item of shownItems(session)) {
    if (item.kind === "message") {
      const message = session.messages.get(item.id);
      const words = (message?.content ?? [])
        .filter((block) => block.type === "text")
        .map((block) => text(block.text))
        .join("\n\n");
      if (message !== undefined && words !== "") parts.push(`## ${message.role}`, words);
    }
    if (item.kind === "call") {
      const call = session.calls.get(item.id);
      if (call === undefined) continue;
      parts.push(
        `### ${call.name}: ${call.status}`,
        fenced(JSON.stringify(call.args, null, 2), "json"),
      );
      const result = contentText(call.content);
      if (result !== "") parts.push(fenced(result, ""));
    }
  }
  return `${parts.join("\n\n")}\n`;
}

/** A fence that is longer than any inside. */
function fenced(content: string, language: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}
