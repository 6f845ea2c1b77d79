/** The pages of the control room. Each is loaded when it is first opened. */
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

export const ADMIN_PAGES: readonly AdminPage[] = [
  of("inbox", Inbox, () => import("./InboxPage"), "approve"),
  of("tools", Wrench, () => import("./ToolsPage")),
  of("rules", Scale, () => import("./RulesPage")),
  of("grants", Handshake, () => import("./GrantsPage")),
  of("audit", ScrollText, () => import("./AuditPage"), "audit:read"),
  of("queries", FileSearch, () => import("./QueriesPage"), "audit:read"),
  of("agents", Bot, () => import("./AgentsPage")),
  of("sessions", MessagesSquare, () => import("./SessionsPage")),
  of("delegations", Network, () => import("./DelegationsPage")),
  of("skills", GraduationCap, () => import("./SkillsPage")),
  of("forum", Megaphone, () => import("./ForumPage")),
  of("memory", Notebook, () => import("./MemoryPage")),
  of("sources", Database, () => import("./SourcesPage")),
  of("schedules", CalendarClock, () => import("./SchedulesPage")),
  of("triggers", Webhook, () => import("./TriggersPage")),
  of("channels", MonitorSmartphone, () => import("./ChannelsPage")),
  of("plugins", Plug, () => import("./PluginsPage")),
  of("usage", ChartColumn, () => import("./UsagePage")),
  of("tokens", KeyRound, () => import("./TokensPage")),
  of("system", HeartPulse, () => import("./SystemPage")),
  of("settings", SlidersHorizontal, () => import("./SettingsPage")),
  of("doctor", Stethoscope, () => import("./DoctorPage")),
];
