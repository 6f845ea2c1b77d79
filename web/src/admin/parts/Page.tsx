/** What the pages of the admin pages are built of: a head, sections, states. */
import { Button, Loader, Title } from "@mantine/core";
import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { asApiError } from "../../events/sessionStore";
import { TEXTS, type TextKey, type Translate, useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import css from "./parts.module.css";

interface PageProps {
  title: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  /** Where a page about one thing came from. */
  back?: { to: string; label: string };
  children: ReactNode;
}

export function Page({ title, lead, actions, back, children }: PageProps) {
  return (
    <div className={css.page}>
      {back !== undefined && (
        <Link to={back.to} className={css.back}>
          <ArrowLeft size={14} aria-hidden />
          {back.label}
        </Link>
      )}
      <header className={css.head}>
        <div className={css.headText}>
          <Title order={1} size="h3" className="foreign">
            {title}
          </Title>
          {lead !== undefined && <p className={css.lead}>{lead}</p>}
        </div>
        {actions !== undefined && <div className={css.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface SectionProps {
  title: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <section className={css.section}>
      <header className={css.head}>
        <div className={css.headText}>
          <h2 className={css.sectionTitle}>{title}</h2>
          {lead !== undefined && <p className={css.lead}>{lead}</p>}
        </div>
        {actions !== undefined && <div className={css.actions}>{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** Nothing to show, and why that is so. */
export function Empty({ children }: { children: ReactNode }) {
  return <p className={css.empty}>{children}</p>;
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** What a query gave; a spinner before, the error instead. */
export function Loaded<T>({
  query,
  children,
}: {
  query: Asked<T>;
  children: (data: T) => ReactNode;
}) {
  const { t } = useTexts();
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) {
    return <ErrorView error={asApiError(query.error)} onRetry={() => void query.refetch()} />;
  }
  return (
    <div className={css.loading}>
      <Loader size="sm" aria-label={t("common.loading")} role="status" />
    </div>
  );
}

interface MoreProps {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

export function More({ query }: MoreProps) {
  const { t } = useTexts();
  if (!query.hasNextPage) return null;
  return (
    <div className={css.more}>
      <Button
        variant="default"
        size="xs"
        loading={query.isFetchingNextPage}
        onClick={() => void query.fetchNextPage()}
      >
        {t("common.more")}
      </Button>
    </div>
  );
}

/** Our word for a value of the service's; its own where we have none. */
export function word(t: Translate, group: string, value: string): string {
  const key = `${group}.${value}`;
  return key in TEXTS ? t(key as TextKey) : value;
}
