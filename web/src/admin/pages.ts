/** The pages of the admin pages, by what they are for. Each is loaded when it is first opened. */
import {
  Bot,
  CalendarClock,
  ChartColumn,
  Database,
  FileSearch,
  GraduationCap,
  Handshake,
  HeartPulse,
  Inbox,
  KeyRound,
  type LucideIcon,
  Megaphone,
  MessagesSquare,
  MonitorSmartphone,
  Network,
  Notebook,
  Plug,
  Scale,
  ScrollText,
  SlidersHorizontal,
  Stethoscope,
  Webhook,
  Wrench,
} from "lucide-react";
import type { ComponentType } from "react";
import type { TextKey } from "../i18n";

export interface AdminPage {
  /** Below `/admin/`; a page may have routes of its own below it. */
  path: string;
  title: TextKey;
  icon: LucideIcon;
  /** Who lacks it does not see the page. */
  scope: string;
  load: () => Promise<{ default: ComponentType }>;
}

const of = (
  path: string,
  icon: LucideIcon,
  load: AdminPage["load"],
  scope = "admin",
): AdminPage => ({ path, title: `admin.${path}` as TextKey, icon, scope, load });

const WAITING: readonly AdminPage[] = [
  of("inbox", Inbox, () => import("./InboxPage"), "approve"),
  of("sessions", MessagesSquare, () => import("./SessionsPage")),
  of("delegations", Network, () => import("./DelegationsPage")),
];

const GOVERNING: readonly AdminPage[] = [
  of("tools", Wrench, () => import("./ToolsPage")),
  of("rules", Scale, () => import("./RulesPage")),
  of("grants", Handshake, () => import("./GrantsPage")),
  of("agents", Bot, () => import("./AgentsPage")),
  of("tokens", KeyRound, () => import("./TokensPage")),
];

const EVIDENCE: readonly AdminPage[] = [
  of("audit", ScrollText, () => import("./AuditPage"), "audit:read"),
  of("queries", FileSearch, () => import("./QueriesPage"), "audit:read"),
  of("usage", ChartColumn, () => import("./UsagePage")),
];

const KNOWLEDGE: readonly AdminPage[] = [
  of("skills", GraduationCap, () => import("./SkillsPage")),
  of("memory", Notebook, () => import("./MemoryPage")),
  of("sources", Database, () => import("./SourcesPage")),
  of("forum", Megaphone, () => import("./ForumPage")),
];

const AUTOMATION: readonly AdminPage[] = [
  of("schedules", CalendarClock, () => import("./SchedulesPage")),
  of("triggers", Webhook, () => import("./TriggersPage")),
  of("channels", MonitorSmartphone, () => import("./ChannelsPage")),
];

const SERVICE: readonly AdminPage[] = [
  of("plugins", Plug, () => import("./PluginsPage")),
  of("system", HeartPulse, () => import("./SystemPage")),
  of("settings", SlidersHorizontal, () => import("./SettingsPage")),
  of("doctor", Stethoscope, () => import("./DoctorPage")),
];

export interface AdminGroup {
  title: TextKey;
  pages: readonly AdminPage[];
}

export const ADMIN_GROUPS: readonly AdminGroup[] = [
  { title: "admin.group.waiting", pages: WAITING },
  { title: "admin.group.governing", pages: GOVERNING },
  { title: "admin.group.evidence", pages: EVIDENCE },
  { title: "admin.group.knowledge", pages: KNOWLEDGE },
  { title: "admin.group.automation", pages: AUTOMATION },
  { title: "admin.group.service", pages: SERVICE },
];

export const ADMIN_PAGES: readonly AdminPage[] = ADMIN_GROUPS.flatMap((group) => group.pages);
