import { expect, test } from "vitest";
import {
  enteredOf,
  formOf,
  KINDS,
  secretLabels,
  valuesOf,
} from "../src/admin/automation/notificationKinds";

const SMTP = formOf("smtp")?.settings ?? [];

test("only what was entered is sent, and numbers as such", () => {
  const entered = { host: " mail.example.org ", port: "465", username: "  ", other: "x" };
  expect(valuesOf(SMTP, entered)).toEqual({ host: "mail.example.org", port: 465 });
});

test("stored settings are sent again as they are", () => {
  const stored = { host: "mail.example.org", port: 25, tls: "none", sender: "a@b.org" };
  expect(valuesOf(SMTP, enteredOf({ ...stored, username: null }))).toEqual(stored);
});

test("stored secrets are named in the order of the form", () => {
  expect(secretLabels("webhook", ["key", "url"])).toEqual(["webhook.url", "webhook.key"]);
});

test("a kind without a form has none", () => {
  expect(formOf("web_push")).toBeNull();
  expect(formOf("toString")).toBeNull();
});

test.each(KINDS)("the fields of %s differ in their names", (kind) => {
  const names = (["settings", "secrets"] as const).flatMap((part) =>
    (formOf(kind)?.[part] ?? []).map((field) => `${part}.${field.name}`),
  );
  expect(new Set(names).size).toBe(names.length);
});
