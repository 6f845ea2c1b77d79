/** Texts of the admin pages: [English, Chinese]. */
import { agents } from "./admin/agents";
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
  ...installation,
} as const satisfies Record<string, readonly [string, string?]>;
