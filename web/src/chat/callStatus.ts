/** How a call stands: its words, its tone, its sign. No two states look alike. */
import {
  Ban,
  CircleCheck,
  CircleHelp,
  CircleX,
  CopyCheck,
  FileWarning,
  Hourglass,
  type LucideIcon,
  PowerOff,
  ShieldX,
  Square,
  TimerOff,
  Unplug,
  UserX,
} from "lucide-react";
import type { Call } from "../events/model";
import type { TextKey } from "../i18n";

export type Tone = "ok" | "bad" | "warn" | "note" | "quiet" | "live";

export interface Standing {
  label: TextKey;
  tone: Tone;
  /** None while it runs: then there is a spinner. */
  icon: LucideIcon | null;
}

const STANDINGS: Readonly<Record<Call["status"], Standing>> = {
  waiting: { label: "call.waiting", tone: "warn", icon: CircleHelp },
  running: { label: "call.running", tone: "live", icon: null },
  success: { label: "call.success", tone: "ok", icon: CircleCheck },
  error: { label: "call.error", tone: "bad", icon: CircleX },
  invalid_arguments: { label: "call.invalid_arguments", tone: "bad", icon: FileWarning },
  disabled: { label: "call.disabled", tone: "quiet", icon: PowerOff },
  denied: { label: "call.denied", tone: "bad", icon: ShieldX },
  declined: { label: "call.declined", tone: "note", icon: UserX },
  expired: { label: "call.expired", tone: "warn", icon: Hourglass },
  cancelled: { label: "call.cancelled", tone: "quiet", icon: Square },
  timeout: { label: "call.timeout", tone: "warn", icon: TimerOff },
  skipped: { label: "call.skipped", tone: "quiet", icon: CopyCheck },
  interrupted: { label: "call.interrupted", tone: "warn", icon: Unplug },
};

const UNKNOWN: Standing = { label: "call.unknown", tone: "bad", icon: Ban };

/** A status that this page does not know never looks like a success. */
export function standingOf(status: string): Standing {
  return STANDINGS[status as Call["status"]] ?? UNKNOWN;
}

/** The words of a call's status; a call that waits says for what. */
export const labelOf = (call: Call): TextKey =>
  call.status === "waiting" && call.waitsFor === "answer"
    ? "call.waiting.answer"
    : standingOf(call.status).label;

export const isOver = (call: Call): boolean =>
  call.status !== "running" && call.status !== "waiting";
