import { MantineProvider } from "@mantine/core";
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Targets } from "../src/chat/ConfirmationTargets";
import type { ConfirmationRequest } from "../src/events/messages";
import { setLanguage } from "../src/i18n";
import { golden } from "./golden";

afterEach(cleanup);
setLanguage("en");

function drawn(targets: ConfirmationRequest["targets"]): string[] {
  const request = golden("tool_confirmation_request", { targets }) as ConfirmationRequest;
  const { container } = render(
    <MantineProvider>
      <Targets request={request} />
    </MantineProvider>,
  );
  return [...container.querySelectorAll("li")].map((item) => item.textContent ?? "");
}

it("shows where links lead from a path, and from the names behind a pattern", () => {
  const shown = drawn([
    { path: "/w/link", real: "/w/src/a\u200b.txt", type: "file", files: 1, more: false, names: [] },
    {
      path: "/w/*.txt",
      type: "unknown",
      files: 2,
      more: false,
      names: ["a.txt", "b.txt"],
      links: [{ path: "b.txt", real: "/w/.env" }],
    },
  ]);
  expect(shown[0]).toBe("/w/link leads to /w/src/a⟨200B⟩.txt file, 1 file");
  expect(shown.slice(2)).toEqual(["a.txt", "b.txt leads to /w/.env"]);
});

it("shows an ordinary path alone", () => {
  const shown = drawn([{ path: "/w/a.txt", type: "file", files: 1, more: false, names: [] }]);
  expect(shown).toEqual(["/w/a.txt file, 1 file"]);
});
