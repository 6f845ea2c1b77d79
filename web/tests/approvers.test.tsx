import { MantineProvider } from "@mantine/core";
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ApprovalCount, Approvers } from "../src/chat/Approvers";
import { approversOf } from "../src/chat/approving";
import type { ConfirmationRequest } from "../src/events/messages";
import { openConfirmation } from "../src/events/model";
import { setLanguage, translate } from "../src/i18n";
import { golden } from "./golden";

afterEach(cleanup);
setLanguage("en");

const asked = golden("tool_confirmation_request.policy") as ConfirmationRequest;

type Terms = NonNullable<ConfirmationRequest["approval"]>;

/** What is shown of a request; `end` is when it expires. */
function lines(changes: Partial<Terms>, end: string | null = asked.expires_at ?? null): string[] {
  const approval = { ...(asked.approval as Terms), ...changes };
  const confirmation = openConfirmation({ ...asked, expires_at: end, approval });
  const { container } = render(
    <MantineProvider>
      <ApprovalCount confirmation={confirmation} />
      <Approvers confirmation={confirmation} />
    </MantineProvider>,
  );
  return [...container.querySelectorAll("li, span")].map((item) => item.textContent ?? "");
}

it("names the policy, who may answer, who has approved and how many are missing", () => {
  expect(lines({})).toEqual([
    "1 of 2 approvals",
    "The policy “Production shop” asks payments.",
    "ann made the request and can't answer it.",
    "Approved by bob; 1 more person must approve.",
  ]);
});

it("says who may answer later, and when", () => {
  const steps = [
    { groups: ["payments\u202e"], owner: false, at: "2026-01-02T03:04:05.678Z" },
    { groups: ["operations"], owner: true, at: "2999-01-02T03:19:05.678Z" },
  ];
  const shown = lines({ steps, quorum: 1, not_requester: false, approved_by: [] }, null);
  expect(shown[0]).toBe("The policy “Production shop” asks payments⟨202E⟩.");
  expect(shown[1]).toMatch(/^From 2 Jan.*: also operations and the owner of the session\.$/);
  expect(shown).toHaveLength(2);
});

it("names substitutes with the users for whom they answered", () => {
  const said = (language: "en" | "zh") =>
    approversOf(
      ["eve", "zoe"],
      { zoe: "bob" },
      (key, values) => translate(key, values, language),
      language,
    );
  expect(said("en")).toBe("eve and zoe for bob");
  expect(said("zh")).toBe("eve和zoe（代 bob）");
});
