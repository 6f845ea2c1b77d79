/** The frame: navigation at the side, on narrow screens behind a button; the page beside it. */
import { ActionIcon, Button, Popover, Text, UnstyledButton } from "@mantine/core";
import {
  CircleUserRound,
  LogOut,
  MenuIcon,
  MessageSquare,
  MonitorSmartphone,
  SlidersHorizontal,
  X,
} from "lucide-react";
import { Fragment, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { Link, NavLink, useLocation } from "react-router";
import { ADMIN_GROUPS, ADMIN_PAGES } from "../admin/pages";
import { SessionList } from "../chat/SessionList";
import { useTexts } from "../i18n";
import { Appearance } from "./Appearance";
import { Brand } from "./Brand";
import { ConnectionBanner } from "./ConnectionBanner";
import { useIdentity } from "./identity";
import { useInbox } from "./inbox";
import { notifyError } from "./notify";
import css from "./Shell.module.css";

const LoginsDialog = lazy(() => import("./LoginsDialog"));

export function Shell({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const { may } = useIdentity();
  const { pathname, key } = useLocation();
  const [open, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const inAdmin = pathname.startsWith("/admin");

  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever goes somewhere closes the drawer
  useEffect(() => setOpen(false), [key]);

  function close() {
    setOpen(false);
    opener.current?.focus();
  }

  return (
    <div className={css.frame}>
      <a className={css.skip} href="#content">
        {t("nav.skip")}
      </a>
      <header className={css.bar}>
        <ActionIcon
          ref={opener}
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t("nav.open")}
          aria-expanded={open}
          onClick={() => setOpen(true)}
        >
          <MenuIcon size={20} aria-hidden />
        </ActionIcon>
        <Brand />
        {may("approve") && (
          <Link to="/admin/inbox" className={css.inboxLink}>
            <WaitingCount />
          </Link>
        )}
      </header>
      {open && (
        <button type="button" className={css.shade} aria-label={t("nav.close")} onClick={close} />
      )}
      <aside
        className={css.side}
        data-open={open}
        onKeyDown={(event) => {
          if (event.key === "Escape" && open) close();
        }}
      >
        <div className={css.top}>
          <Link to="/" className={css.home} aria-label="Tollgate">
            <Brand />
          </Link>
          <ActionIcon
            className={css.closer}
            variant="subtle"
            color="gray"
            aria-label={t("nav.close")}
            onClick={close}
          >
            <X size={18} aria-hidden />
          </ActionIcon>
        </div>
        <Areas />
        <div className={css.middle}>{inAdmin || !may("chat") ? <AdminNav /> : <SessionList />}</div>
        <UserMenu onAway={() => setOpen(false)} />
      </aside>
      <main className={css.main} id="content" tabIndex={-1}>
        <ConnectionBanner />
        <div className={css.content} data-scrolls>
          {children}
        </div>
      </main>
    </div>
  );
}

/** Chat and admin pages; no choice where there is only one of them. */
function Areas() {
  const { t } = useTexts();
  const { may } = useIdentity();
  if (!may("chat") || !ADMIN_PAGES.some((page) => may(page.scope))) return null;
  return (
    <nav className={css.areas} aria-label={t("nav.main")}>
      <NavLink to="/chat" className={css.area ?? ""}>
        <MessageSquare size={15} aria-hidden />
        {t("nav.chat")}
      </NavLink>
      <NavLink to="/admin" className={css.area ?? ""}>
        <SlidersHorizontal size={15} aria-hidden />
        {t("nav.admin")}
        {may("approve") && <WaitingCount />}
      </NavLink>
    </nav>
  );
}

/** How many confirmations wait, where there are any. */
function WaitingCount() {
  const { t } = useTexts();
  const count = useInbox().filter((entry) => entry.kind === "confirmation").length;
  if (count === 0) return null;
  return (
    <span className={css.count} role="img" aria-label={t("nav.waiting", { count })}>
      {count}
    </span>
  );
}

function AdminNav() {
  const { t } = useTexts();
  const { may } = useIdentity();
  const { pathname } = useLocation();
  const list = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is another entry
  useEffect(() => {
    list.current?.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" });
  }, [pathname]);
  return (
    <nav ref={list} className={css.list} aria-label={t("admin.title")}>
      {ADMIN_GROUPS.map(({ title, pages }) => {
        const open = pages.filter((page) => may(page.scope));
        if (open.length === 0) return null;
        return (
          <Fragment key={title}>
            <div className={css.group} id={title}>
              {t(title)}
            </div>
            <ul className={css.pages} aria-labelledby={title}>
              {open.map((page) => (
                <li key={page.path}>
                  <NavLink to={`/admin/${page.path}`} className={css.entry ?? ""}>
                    <page.icon size={16} aria-hidden />
                    {t(page.title)}
                    {page.path === "inbox" && <WaitingCount />}
                  </NavLink>
                </li>
              ))}
            </ul>
          </Fragment>
        );
      })}
    </nav>
  );
}

/** `onAway`: what is opened stands beside the drawer, not behind it. */
function UserMenu({ onAway }: { onAway: () => void }) {
  const { t } = useTexts();
  const { me, signOut } = useIdentity();
  const [open, setOpen] = useState(false);
  const [listing, setListing] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const menu = (
    <Popover
      width={264}
      position="top-start"
      shadow="md"
      trapFocus
      returnFocus
      opened={open}
      onChange={setOpen}
    >
      <Popover.Target>
        <UnstyledButton ref={opener} className={css.user} onClick={() => setOpen(!open)}>
          <CircleUserRound size={20} aria-hidden />
          <span className={css.userName}>{me?.user_id}</span>
          <span className="hidden-visually">{t("user.menu")}</span>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown aria-label={t("user.menu")} className={css.account}>
        <Text size="sm" c="dimmed" className="foreign">
          {t("user.signed_in", { user: me?.user_id ?? "" })}
        </Text>
        <Appearance />
        {me?.came_by === "login" && (
          <>
            <Button
              variant="default"
              size="xs"
              leftSection={<MonitorSmartphone size={14} aria-hidden />}
              onClick={() => {
                setOpen(false);
                setListing(true);
                onAway();
              }}
            >
              {t("logins.title")}
            </Button>
            <Button
              variant="default"
              size="xs"
              leftSection={<LogOut size={14} aria-hidden />}
              onClick={() => void signOut().catch(notifyError)}
            >
              {t("user.sign_out")}
            </Button>
          </>
        )}
      </Popover.Dropdown>
    </Popover>
  );
  return (
    <>
      {menu}
      {listing && (
        <Suspense fallback={null}>
          <LoginsDialog
            onClose={() => {
              setListing(false);
              opener.current?.focus();
            }}
          />
        </Suspense>
      )}
    </>
  );
}
