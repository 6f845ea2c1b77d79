/** Texts of the admin pages: [English, Chinese]. */
import { agents } from "./admin/agents";
import { connections } from "./admin/connections";
import { decisions } from "./admin/decisions";
import { installation } from "./admin/installation";
import { outside } from "./admin/outside";
import { sources } from "./admin/sources";
import { tools } from "./admin/tools";
import { work } from "./admin/work";

export const admin = {
  ...tools,
  ...decisions,
  ...agents,
  ...work,
  ...sources,
  ...outside,
  ...connections,
  ...installation,
} as const satisfies Record<string, readonly [string, string?]>;
