/** The admin pages by section of the menu, which is also their folder. Each is loaded when it is first opened. */
import {
  BellRing,
  Bot,
  Cable,
  CalendarClock,
  ChartColumn,
  Database,
  FileSearch,
  GraduationCap,
  Handshake,
  HeartPulse,
  Inbox,
  KeyRound,
  Lightbulb,
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
  UsersRound,
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
): AdminPage => ({
  path,
  title: `admin.${path}` as TextKey,
  icon,
  scope,
  load: async () => {
    const [page] = await Promise.all([load(), import("../i18n/adminTexts")]);
    return page;
  },
});

const WORK: readonly AdminPage[] = [
  of("inbox", Inbox, () => import("./runs/InboxPage"), "approve"),
  of("sessions", MessagesSquare, () => import("./runs/SessionsPage")),
  of("delegations", Network, () => import("./runs/DelegationsPage")),
];

const POLICIES: readonly AdminPage[] = [
  of("tools", Wrench, () => import("./policies/ToolsPage")),
  of("rules", Scale, () => import("./policies/RulesPage")),
  of("proposals", Lightbulb, () => import("./policies/proposals/ProposalsPage")),
  of("approvers", UsersRound, () => import("./policies/ApproversPage")),
  of("grants", Handshake, () => import("./policies/GrantsPage")),
  of("agents", Bot, () => import("./policies/AgentsPage")),
  of("tokens", KeyRound, () => import("./policies/TokensPage")),
];

const ACTIVITY: readonly AdminPage[] = [
  of("audit", ScrollText, () => import("./activity/AuditPage"), "audit:read"),
  of("queries", FileSearch, () => import("./activity/QueriesPage"), "audit:read"),
  of("connections", Cable, () => import("./activity/ConnectionsPage"), "audit:read"),
  of("usage", ChartColumn, () => import("./activity/UsagePage")),
];

const KNOWLEDGE: readonly AdminPage[] = [
  of("skills", GraduationCap, () => import("./knowledge/SkillsPage")),
  of("memory", Notebook, () => import("./knowledge/MemoryPage")),
  of("sources", Database, () => import("./knowledge/SourcesPage")),
  of("forum", Megaphone, () => import("./knowledge/ForumPage")),
];

const AUTOMATION: readonly AdminPage[] = [
  of("schedules", CalendarClock, () => import("./automation/SchedulesPage")),
  of("triggers", Webhook, () => import("./automation/TriggersPage")),
  of("channels", MonitorSmartphone, () => import("./automation/ChannelsPage")),
  of("notifications", BellRing, () => import("./automation/NotificationsPage")),
];

const SYSTEM: readonly AdminPage[] = [
  of("plugins", Plug, () => import("./system/PluginsPage")),
  of("system", HeartPulse, () => import("./system/SystemPage")),
  of("settings", SlidersHorizontal, () => import("./system/SettingsPage")),
  of("doctor", Stethoscope, () => import("./system/DoctorPage")),
];

export interface AdminGroup {
  title: TextKey;
  pages: readonly AdminPage[];
}

export const ADMIN_GROUPS: readonly AdminGroup[] = [
  { title: "admin.group.work", pages: WORK },
  { title: "admin.group.policies", pages: POLICIES },
  { title: "admin.group.activity", pages: ACTIVITY },
  { title: "admin.group.knowledge", pages: KNOWLEDGE },
  { title: "admin.group.automation", pages: AUTOMATION },
  { title: "admin.group.system", pages: SYSTEM },
];

export const ADMIN_PAGES: readonly AdminPage[] = ADMIN_GROUPS.flatMap((group) => group.pages);
