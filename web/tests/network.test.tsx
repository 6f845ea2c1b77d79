/** Connections of commands: how results tell them, and how pages show them and ask for them. */
import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, describe, expect, it, test } from "vitest";
import { askedOf, ruleFor } from "../src/admin/activity/connectionRows";
import { marksOf } from "../src/chat/folding";
import { EMPTY } from "../src/events/model";
import { reduce } from "../src/events/reduce";
import { setLanguage, translate } from "../src/i18n";
import { refusalSaid, verdictSaid } from "../src/i18n/networkWords";
import { Network } from "../src/renderers/Network";
import {
  type NetworkUse,
  placeOf,
  readNetwork,
  reasonsOf,
  refusalsOf,
  usedIn,
} from "../src/renderers/networkUse";
import { golden, log } from "./golden";

afterEach(cleanup);
setLanguage("en");

const REASON = "evil.example:8443 is not an allowed host of this project";
const reached = { host: "a.example", port: 443, verdict: "allowed", connections: 2 };
const refused = { verdict: "refused", code: "not_allowed", reason: REASON, connections: 1 };
const DATA = {
  stdout: "",
  network: [
    { ...reached, bytes_up: 1_000, bytes_down: 13_336, duration_s: 0.2 },
    { ...refused, host: "evil.example", port: 8443, bytes_up: 0, bytes_down: 0, duration_s: 0 },
  ],
};

test("the rows of a result are read, and what is no row is left out", () => {
  expect(readNetwork(DATA)).toEqual([
    { ...reached, code: null, reason: "", up: 1_000, down: 13_336 },
    { ...refused, host: "evil.example", port: 8443, up: 0, down: 0 },
  ]);
  expect(readNetwork({ network: [null, 7, { port: 1 }, { host: "a.example" }] })).toEqual([
    {
      host: "a.example",
      port: 0,
      verdict: "",
      code: null,
      reason: "",
      connections: 1,
      up: 0,
      down: 0,
    },
  ]);
  for (const nothing of [null, "", {}, { network: "none" }])
    expect(readNetwork(nothing)).toEqual([]);
});

test("a place has its port, except a lookup of a name", () => {
  expect(placeOf("a.example", 22)).toBe("a.example:22");
  expect(placeOf("2001:db8::7", 22)).toBe("[2001:db8::7]:22");
  expect(placeOf("a.example", 0)).toBe("a.example");
});

test("a rule names the port where it is not the usual one", () => {
  expect(ruleFor("a.example", 0)).toBe("a.example");
  expect(ruleFor("a.example", 443)).toBe("a.example");
  expect(ruleFor("a.example", 8443)).toBe("a.example:8443");
  expect(ruleFor("2001:db8::7", 443)).toBe("[2001:db8::7]");
  expect(ruleFor("2001:db8::7", 5432)).toBe("[2001:db8::7]:5432");
});

test("times of the reader's clock are asked for as moments, and unfinished ones are not", () => {
  const since = "2026-11-30T20:00";
  expect(askedOf({ host: "a.example", since, until: "2026-" })).toEqual({
    host: "a.example",
    since: new Date(since).toISOString(),
  });
});

test("hosts are counted once, and bytes in both directions", () => {
  const [one, other] = readNetwork(DATA) as [NetworkUse, NetworkUse];
  expect(usedIn([one, { ...one, port: 80 }, other])).toEqual({
    hosts: 1,
    refused: 1,
    bytes: 28_672,
  });
  expect(reasonsOf([one, other, other])).toEqual([other]);
});

test("a refusal is shown in the reader's language, with the sentence of the service", () => {
  expect(refusalSaid("en", "not_allowed", REASON)).toEqual({ what: REASON, detail: null });
  const said = refusalSaid("zh", "not_allowed", REASON);
  expect(said.what).toMatch(/\p{Script=Han}/u);
  expect(said.detail).toBe(REASON);
  for (const code of [null, "toString", "new_code"]) {
    expect(refusalSaid("zh", code, REASON)).toEqual({ what: REASON, detail: null });
  }
  expect(verdictSaid(translate, "lost")).toBe("Interrupted");
  expect(verdictSaid(translate, "toString")).toBe("toString");
});

describe("the line of a command", () => {
  const draw = (data: unknown) =>
    render(
      <MantineProvider>
        <Network rows={readNetwork(data)} />
      </MantineProvider>,
    );

  it("shows what was refused, and opens to a table", () => {
    draw(DATA);
    const line = screen.getByRole("button", { name: "Network: 1 host, 14 KB, 1 refused" });
    expect(screen.getByRole("list", { name: "Refused connections" }).textContent).toBe(REASON);
    expect(screen.queryByRole("table")).toBeNull();
    fireEvent.click(line);
    expect(line.getAttribute("aria-expanded")).toBe("true");
    expect(screen.queryByRole("list")).toBeNull();
    const [, first, second] = screen.getAllByRole("row");
    const cells = (row: HTMLElement | undefined) =>
      within(row as HTMLElement)
        .getAllByRole("cell")
        .map((cell) => cell.textContent);
    expect(cells(first)).toEqual(["a.example:443", "Allowed", "2", "1,000 B", "13 KB", ""]);
    expect(cells(second)).toEqual(["evil.example:8443", "Refused", "1", "0 B", "0 B", REASON]);
  });

  it("has no column of reasons where nothing was refused", () => {
    draw({ network: DATA.network.slice(0, 1) });
    fireEvent.click(screen.getByRole("button", { name: "Network: 1 host, 14 KB" }));
    expect(screen.getAllByRole("columnheader")).toHaveLength(5);
  });

  it("shows the first of many reasons, and how many there are", () => {
    const many = Array.from({ length: 5 }, (_, at) => ({
      ...refused,
      host: `${at}.example`,
      reason: `no ${at}`,
    }));
    draw({ network: many });
    screen.getByRole("button", { name: "Network: 5 refused" });
    expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "no 0",
      "no 1",
      "no 2",
      "and 2 more",
    ]);
  });

  it("draws names of hosts that disguise themselves as what they are", () => {
    draw({ network: [{ ...refused, host: "a\u202egpj.example", reason: "" }] });
    expect(screen.getByRole("listitem").textContent).not.toContain("\u202e");
  });
});

test("a command with a refusal is not folded away", () => {
  const marks = (raw: unknown) => {
    const state = reduce(
      EMPTY,
      log(
        golden("tool_call_started"),
        golden("tool_call_completed", { status: "success", raw_result: raw }),
      ),
    );
    return marksOf(state, [{ kind: "call", id: "op_0a1b2c000001" } as never], new Set());
  };
  expect(marks({ type: "terminal", data: DATA })).toBe(".");
  expect(marks({ type: "terminal", data: { ...DATA, network: DATA.network.slice(0, 1) } })).toBe(
    "f",
  );
  expect(refusalsOf(null)).toEqual([]);
  expect(refusalsOf({ type: "json", data: DATA })).toEqual([]);
});
