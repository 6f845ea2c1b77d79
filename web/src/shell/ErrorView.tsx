/** An error, what it means, and what to do about it. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { CircleAlert } from "lucide-react";
import type { ApiError } from "../api/client";
import { currentLanguage, TEXTS, type TextKey, type Translate, useTexts } from "../i18n";
import { fieldProblems } from "../i18n/fieldWords";
import { codeWords } from "../i18n/words";
import { visible } from "../shared/visible";
import { FieldList } from "./FieldList";
import { Lines } from "./Said";

interface Props {
  error: ApiError;
  onRetry?: () => void;
  /** What trying again is called here. */
  retryLabel?: string;
  compact?: boolean;
}

const known = (key: string): key is TextKey => key in TEXTS;

interface Explained {
  what: string;
  /** The service's own sentence, where `what` is ours. */
  detail: string | null;
  fix: string | null;
}

/** What happened: the service's own words after ours, or ours alone where it could not speak. */
export function explain(error: ApiError, t: Translate): Explained {
  const own = `error.${error.code}`;
  const fix = `${own}.fix`;
  const told = { fix: known(fix) ? t(fix) : null };
  if (known(own)) return { what: t(own), detail: null, ...told };
  const words = codeWords(currentLanguage(), error.code, error.message);
  return words === null
    ? { what: error.message, detail: null, ...told }
    : { what: words, detail: error.message, ...told };
}

export function ErrorView({ error, onRetry, retryLabel, compact = false }: Props) {
  const { t } = useTexts();
  const { what, detail, fix } = explain(error, t);
  const id = typeof error.details.error_id === "string" ? error.details.error_id : null;
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      icon={<CircleAlert size={18} aria-hidden />}
      title={compact ? undefined : t("error.title")}
      ta="left"
    >
      <Text size="sm" component="div">
        <Lines what={visible(what)} detail={detail === null ? null : visible(detail)} />
      </Text>
      <FieldList problems={fieldProblems(error.details)} sentence={detail ?? what} />
      {fix !== null && (
        <Text size="sm" mt={4}>
          {fix}
        </Text>
      )}
      {id !== null && (
        <Text size="xs" mt={4}>
          {t("error.copy_id", { id })}
        </Text>
      )}
      {onRetry !== undefined && (
        <Group mt="xs">
          <Button size="xs" variant="default" onClick={onRetry}>
            {retryLabel ?? t("error.retry")}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
