/** Hosts of a project, as its form holds them, and what the service says about them. */
import { expect, test } from "vitest";
import { isAbout } from "../src/admin/parts/fieldErrors";
import { linesOf, withHost } from "../src/admin/system/hosts";

test("every line that holds something is a host", () => {
  expect(linesOf(" github.com:22,443\r\n\n*.example.com \n")).toEqual([
    "github.com:22,443",
    "*.example.com",
  ]);
  expect(linesOf(" \n")).toEqual([]);
});

test("a preset is added at the end, and once", () => {
  expect(withHost("", "preset:go")).toBe("preset:go");
  expect(withHost("github.com\n", "preset:go")).toBe("github.com\npreset:go");
  expect(withHost("preset:go\ngithub.com", "preset:go")).toBe("preset:go\ngithub.com");
});

test("a problem stands beside its field, and beside no other", () => {
  const problem = (path: string) => ({ path, message: "…" });
  expect(isAbout("allowed_hosts", problem("body.allowed_hosts"))).toBe(true);
  expect(isAbout("allowed_hosts", problem("body.allowed_hosts[1]"))).toBe(true);
  expect(isAbout("allowed_hosts", problem("body.allowed_hosts_of"))).toBe(false);
  expect(isAbout("allowed_hosts", problem("body.tcp_ports[0]"))).toBe(false);
});
