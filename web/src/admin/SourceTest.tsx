/** Connects to a data source once, and tells what came of it. */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api, data } from "../api/client";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { ErrorView } from "../shell/ErrorView";
import { Foreign } from "./parts/Bits";
import css from "./parts/parts.module.css";

export function SourceTest({ id, name }: { id: string; name: string }) {
  const { t } = useTexts();
  const test = useMutation({
    mutationFn: () =>
      data(
        api.POST("/api/v1/admin/sources/{source_id}/test", { params: { path: { source_id: id } } }),
      ),
  });
  const found = test.data;
  const server = found?.server ?? "";
  const ms = Math.round(found?.latency_ms ?? 0);
  return (
    <div className={css.stack}>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`${t("sources.connect")}: ${name}`}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          {t("sources.connect")}
        </Button>
      </div>
      <div role="status" className={css.stack}>
        {test.error !== null && <ErrorView error={asApiError(test.error)} compact />}
        {found !== undefined && (
          <p className={css.note} data-tone={found.ok ? "ok" : "bad"}>
            <Foreign>{found.ok ? t("sources.ok", { server, ms }) : (found.error ?? "")}</Foreign>
          </p>
        )}
        {found !== undefined && found.warnings.length > 0 && (
          <ul className={css.note} data-tone="warn">
            {found.warnings.map((warning) => (
              <li key={warning}>
                <Foreign>{warning}</Foreign>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
