import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { standingOf } from "../src/chat/callStatus";
import { type Call, EMPTY } from "../src/events/model";
import { reduce } from "../src/events/reduce";
import { setLanguage } from "../src/i18n";
import { renderers } from "../src/renderers/builtin";
import { Registry } from "../src/renderers/registry";
import { golden, log } from "./golden";

afterEach(cleanup);
setLanguage("en");

/** The golden call, ended with a result. */
function ended(raw: unknown, more: Record<string, unknown> = {}): Call {
  const state = reduce(
    EMPTY,
    log(
      golden("tool_call_started", more),
      golden("tool_call_completed", { ...more, status: "success", raw_result: raw }),
    ),
  );
  const call = state.calls.get("op_0a1b2c000001");
  if (call === undefined) throw new Error("the call is missing");
  return call;
}

function draw(call: Call, from: Registry = renderers) {
  const chosen = from.choose(call);
  const view = render(<MantineProvider>{chosen.body}</MantineProvider>);
  return { ...view, chosen };
}

describe("the renderer", () => {
  it("of a terminal shows output, errors and the exit code", () => {
    const { chosen } = draw(
      ended({ type: "terminal", data: { stdout: "one\n", stderr: "oh", exit_code: 2 } }),
    );
    expect(chosen.id).toBe("terminal");
    expect(chosen.summary).toBe("one");
    expect(screen.getByText("one")).toBeTruthy();
    expect(screen.getByText("oh")).toBeTruthy();
    expect(screen.getByText("Exit code 2")).toBeTruthy();
  });

  it("of a diff marks what came and what went", () => {
    const { container, chosen } = draw(
      ended({ type: "diff", data: { diff: "@@ -1 +1 @@\n-a\n+b\n", added: 1, removed: 1 } }),
    );
    expect(chosen.summary).toBe("+1 −1");
    expect(container.querySelector('[data-kind="added"]')?.textContent).toBe("+b\n");
    expect(container.querySelector('[data-kind="removed"]')?.textContent).toBe("-a\n");
  });

  it("of a table has a column for each key", () => {
    draw(
      ended({
        type: "table",
        data: [
          { name: "a", size: 1 },
          { name: "b", more: true },
        ],
      }),
    );
    expect(screen.getAllByRole("columnheader").map((cell) => cell.textContent)).toEqual([
      "name",
      "size",
      "more",
    ]);
    expect(screen.getAllByRole("row")).toHaveLength(3);
  });

  it("of pictures shows the service's own files, and no others", () => {
    const { container } = draw(
      ended({
        type: "image",
        data: {
          images: [
            { name: "a.png", artifact_id: "art_1", size: 2048, url: "https://evil.example/a.png" },
            { name: "b.png", url: "https://evil.example/b.png" },
          ],
        },
      }),
    );
    const sources = [...container.querySelectorAll("img")].map((one) => one.getAttribute("src"));
    expect(sources).toEqual(["/api/v1/artifacts/art_1"]);
  });

  it("of a plan says how each step stands", () => {
    const data = {
      todos: [
        { id: "1", content: "Read", status: "completed" },
        { id: "2", content: "Write", status: "in_progress" },
        { id: "3", content: "Sing", status: "unheard_of" },
      ],
    };
    const { chosen } = draw(ended({ type: "json", data }, { tool_name: "todo" }));
    expect(chosen.id).toBe("todo");
    expect(chosen.summary).toBe("1 / 3");
    expect(screen.getAllByRole("listitem").map((one) => one.getAttribute("data-status"))).toEqual([
      "completed",
      "in_progress",
      "pending",
    ]);
  });

  it("of JSON is a tree", () => {
    const { chosen } = draw(ended({ type: "json", data: { a: [1, "two"] } }));
    expect(chosen.id).toBe("json");
    expect(screen.getByText('"two"')).toBeTruthy();
  });

  it.each([
    ["a type that nobody knows", { type: "hologram", data: {} }],
    ["a terminal without output", { type: "terminal", data: { exit_code: 1 } }],
    ["a table that is none", { type: "table", data: "rows" }],
    ["pictures without files", { type: "image", data: { images: [{ url: "x" }] } }],
    ["nothing", null],
  ])("for %s falls back to what the model reads", (_, raw) => {
    const { chosen } = draw(ended(raw));
    expect(chosen.id).toBe("default");
    expect(screen.getByText("exit status 1")).toBeTruthy();
  });

  it("of a web search names hosts, and follows no address but the web's", () => {
    const found = (rows: unknown) => ({
      ...ended({ type: "table", data: rows }),
      name: "web_search",
    });
    const { container, chosen } = draw(
      found([
        { title: "One", url: "https://a.example/1", snippet: "first" },
        { title: "Two", url: "https://b.example/2", snippet: "second" },
        { title: "Three", url: "https://a.example/3", snippet: "" },
      ]),
    );
    expect(chosen.id).toBe("findings");
    expect(chosen.summary).toBe("3 ×");
    const places = [...container.querySelectorAll("ol > li > p")].map((one) => one.textContent);
    expect(places).toEqual(["a.example2", "b.example1"]);
    const links = screen.getAllByRole("link");
    expect(links.map((link) => link.textContent)).toEqual(["One", "Three", "Two"]);
    expect(links.every((link) => link.getAttribute("rel")?.includes("noreferrer"))).toBe(true);
    cleanup();
    const hostile = draw(found([{ title: "x", url: "javascript:alert(1)", snippet: "" }]));
    expect(hostile.chosen.id).toBe("table");
    expect(hostile.container.querySelector("a")).toBeNull();
  });

  it("of a search of files or of everything says where each thing lies", () => {
    const inFiles = draw({
      ...ended({
        type: "table",
        data: [
          { path: "a.py", line: 3, text: "one" },
          { path: "b.py", line: 1, text: "two" },
          { path: "a.py", line: 9, text: "three" },
        ],
      }),
      name: "file_search",
    });
    expect(inFiles.container.querySelector("ol")?.textContent).toBe("a.py23one9threeb.py11two");
    cleanup();
    const anywhere = draw({
      ...ended({
        type: "json",
        data: {
          total: 2,
          results: {
            sessions: [],
            memory: [{ key: "colour", text: "green" }],
            files: [{ path: "a.py", line: 3, text: "one" }],
          },
        },
      }),
      name: "search",
    });
    expect(anywhere.container.querySelector("ol")?.textContent).toBe(
      "Memory1colourgreenFiles1a.py:3one",
    );
  });

  it("of a search shows the first hundred and says how many there were", () => {
    const rows = Array.from({ length: 250 }, (_, line) => ({
      path: `f${line % 3}`,
      line,
      text: "x",
    }));
    const call = { ...ended({ type: "table", data: rows }), name: "file_search" };
    const { container } = draw(call);
    expect(container.querySelectorAll("ul li")).toHaveLength(100);
    expect(screen.getByText("100 of 250 rows")).toBeTruthy();
  });

  it("of sent files shows pictures and lets all be downloaded", () => {
    const attachments = [
      { name: "a.png", artifact_id: "art_1", media_type: "image/png", size: 2048 },
      { name: "report.pdf", artifact_id: "art_2", media_type: "application/pdf", size: 10 },
      { name: "lost.pdf", media_type: "application/pdf" },
    ];
    const { container, chosen } = draw({
      ...ended({ type: "json", data: { message: "Here they are", attachments } }),
      name: "send_media",
    });
    expect(chosen.id).toBe("files");
    expect(chosen.summary).toBe("a.png, report.pdf");
    expect(screen.getByText("Here they are")).toBeTruthy();
    expect(container.querySelectorAll("img")).toHaveLength(1);
    const links = screen.getAllByRole("link").map((link) => link.getAttribute("href"));
    expect(links).toEqual(["/api/v1/artifacts/art_1", "/api/v1/artifacts/art_2"]);
  });

  it("never makes markup of what it is given", () => {
    const evil = "<img src=x onerror=alert(1)><script>alert(1)</script>";
    const shapes = [
      { type: "terminal", data: { stdout: evil } },
      { type: "diff", data: { diff: `+${evil}` } },
      { type: "table", data: [{ [evil]: evil }] },
      { type: "json", data: { [evil]: evil } },
      { type: "text", data: evil },
    ];
    for (const shape of shapes) {
      const { container } = draw(ended(shape));
      expect(container.querySelector("img, script")).toBeNull();
      expect(container.textContent).toContain("onerror=alert(1)");
      cleanup();
    }
  });

  it("can be added from outside, and wins over the ones that were there", () => {
    const own = new Registry()
      .register<string>({
        id: "general",
        types: ["*"],
        accepts: () => "general",
        Body: ({ value }) => <p>{value}</p>,
      })
      .register<string>({
        id: "special",
        types: ["tool:bash"],
        accepts: () => "special",
        Body: ({ value }) => <p>{value}</p>,
      });
    expect(own.choose(ended(null)).id).toBe("special");
    expect(own.choose({ ...ended(null), name: "other" }).id).toBe("general");
  });
});

describe("the state of a call", () => {
  const states = [
    ...["success", "error", "invalid_arguments", "disabled", "denied", "declined", "expired"],
    ...["cancelled", "timeout", "skipped", "interrupted", "waiting", "running"],
  ];

  it("looks like no other", () => {
    const labels = states.map((state) => standingOf(state).label);
    const icons = states.map((state) => standingOf(state).icon);
    expect(new Set(labels).size).toBe(states.length);
    expect(new Set(icons).size).toBe(states.length);
  });

  it("that is not known never looks like a success", () => {
    expect(standingOf("glorious").tone).toBe("bad");
  });
});
