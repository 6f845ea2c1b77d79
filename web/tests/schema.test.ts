import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { grouped } from "../src/chat/answering";
import { argumentsOf, fieldsOf } from "../src/chat/schema";
import { matching } from "../src/chat/tools";
import { golden } from "./golden";

const SCHEMA = {
  type: "object",
  required: ["path", "mode"],
  properties: {
    limit: { anyOf: [{ type: "integer" }, { type: "null" }], default: null },
    path: { type: "string", description: "Where" },
    mode: { enum: ["fast", "slow"] },
    deep: { type: "boolean" },
    filters: { type: "array", items: { type: "string" } },
  },
};

describe("a form made of a schema", () => {
  const fields = fieldsOf(SCHEMA);

  it("has what is needed first, each as what it is", () => {
    expect(fields.map((field) => [field.name, field.kind])).toEqual([
      ["path", "text"],
      ["mode", "choice"],
      ["limit", "number"],
      ["deep", "switch"],
      ["filters", "json"],
    ]);
  });

  it("gives arguments of the right types, and leaves out what is empty", () => {
    const values = { path: "a", mode: "fast", limit: "3", deep: true, filters: '["x"]' };
    expect(argumentsOf(fields, values)).toEqual({
      args: { path: "a", mode: "fast", limit: 3, deep: true, filters: ["x"] },
      wrong: [],
    });
    expect(argumentsOf(fields, { path: "a", mode: "slow", limit: "" }).args).toEqual({
      path: "a",
      mode: "slow",
    });
  });

  it.each([
    [{ mode: "fast" }, ["path"]],
    [{ path: "a", mode: "fast", limit: "many" }, ["limit"]],
    [{ path: "a", mode: "fast", limit: "1.5" }, ["limit"]],
    [{ path: "a", mode: "fast", filters: "[oops" }, ["filters"]],
  ])("names what does not fit: %j", (values, wrong) => {
    expect(argumentsOf(fields, values as Record<string, string>).wrong).toEqual(wrong);
  });

  it.each([null, "text", [], { type: "object" }])("of %j has no fields", (schema) => {
    expect(fieldsOf(schema)).toEqual([]);
  });
});

describe("the answers to a confirmation", () => {
  it("that last stand apart from those for this call", () => {
    const { once, lasting } = grouped(
      golden<"tool_confirmation_request">("tool_confirmation_request.lasting").options,
    );
    expect(once.map((option) => option.option_id)).toEqual(["decline", "approve_once"]);
    expect(lasting.map((option) => option.option_id)).toEqual(["approve_run", "approve_agent"]);
  });
});

describe("slash commands", () => {
  const names = Object.keys(
    JSON.parse(readFileSync(join(import.meta.dirname, "../../examples/calls.json"), "utf8")),
  );
  const tools = names.map((name) => ({
    name,
    description: name === "bash" ? "Run a command" : "",
    category: "",
    parameters: {},
    enabled: true,
  }));

  it("are found by the beginning of a name first", () => {
    expect(matching(tools, "file", "en").map((tool) => tool.name)[0]).toMatch(/^file/);
    expect(matching(tools, "file", "en").map((tool) => tool.name)).toContain("read_file");
  });

  it("are found by what a tool does", () => {
    expect(matching(tools, "command", "en").map((tool) => tool.name)).toContain("bash");
  });

  it("are none when nothing fits", () => {
    expect(matching(tools, "xyzzy", "en")).toEqual([]);
  });
});
