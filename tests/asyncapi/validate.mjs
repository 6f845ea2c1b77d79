// Validate an AsyncAPI document: node validate.mjs [FILE], or the document on standard input.
// Exit 1 when the parser has anything of severity error or warning to say, 2 when there is no document.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const SEVERITIES = ["error", "warning", "information", "hint"];
const FAILING = 1;

function read(file) {
  try {
    return readFileSync(file ?? 0, "utf-8");
  } catch (error) {
    console.error(`No document could be read: ${error.message}`);
    process.exit(2);
  }
}

const source = read(process.argv[2]);
if (source.trim() === "") {
  console.error("The document is empty.");
  process.exit(2);
}
const { document, diagnostics } = await new Parser().parse(source);
for (const { severity, path, message } of diagnostics) {
  console.error(`${SEVERITIES[severity]}: ${path.join("/") || "(document)"}: ${message}`);
}
const failing = diagnostics.filter(({ severity }) => severity <= FAILING);
if (document === undefined || failing.length > 0) {
  console.error(`The AsyncAPI document does not hold: ${failing.length} findings.`);
  process.exit(1);
}
console.log(`The AsyncAPI document holds: version ${document.version()}, ${document.allMessages().length} messages.`);
