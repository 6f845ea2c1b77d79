/** A page that says one thing. */
import { Button, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { useTexts } from "../i18n";
import css from "./StatusPage.module.css";

interface Props {
  title?: string;
  lead?: string;
  home?: boolean;
  children?: ReactNode;
}

export function StatusPage({ title, lead, home = false, children }: Props) {
  const { t } = useTexts();
  return (
    <section className={css.page}>
      {title !== undefined && (
        <Title order={1} size="h3">
          {title}
        </Title>
      )}
      {lead !== undefined && <Text c="dimmed">{lead}</Text>}
      {children}
      {home && (
        <Button component={Link} to="/chat" variant="default">
          {t("page.home")}
        </Button>
      )}
    </section>
  );
}

export function NotFound() {
  const { t } = useTexts();
  return <StatusPage title={t("page.not_found")} lead={t("page.not_found.lead")} home />;
}
