/** Cuts Markdown at blank lines that are not inside of a fence or a list. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const CONTINUES = /^(?:\s|[-*+] |\d+[.)] )/;

export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let fence: string | null = null;
  const lines = text.split("\n");
  lines.forEach((line, index) => {
    block.push(line);
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
      return;
    }
    if (mark !== undefined) {
      fence = mark;
      return;
    }
    const next = lines[index + 1];
    // What is indented, or another entry of a list, belongs to what stands before it.
    if (line.trim() === "" && next !== undefined && next.trim() !== "" && !CONTINUES.test(next)) {
      blocks.push(block.join("\n"));
      block = [];
    }
  });
  if (block.length > 0) blocks.push(block.join("\n"));
  return blocks;
}
