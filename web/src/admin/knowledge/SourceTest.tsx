/** Connects to a data source once, and tells what came of it. */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import { Said } from "../../shell/Said";
import { Foreign } from "../parts/Bits";
import css from "../parts/parts.module.css";

export function SourceTest({ id, name }: { id: string; name: string }) {
  const { t } = useTexts();
  const test = useMutation({
    mutationFn: () =>
      data(
        api.POST("/api/v1/admin/data-sources/{source_id}/test", {
          params: { path: { source_id: id } },
        }),
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
            {found.ok ? (
              <Foreign>{t("sources.ok", { server, ms })}</Foreign>
            ) : (
              <Said code={found.error_code ?? ""} message={found.error ?? ""} />
            )}
          </p>
        )}
        {found !== undefined && found.warnings.length > 0 && (
          <ul className={css.note} data-tone="warn">
            {found.warnings.map((warning, at) => (
              <li key={warning}>
                <Said code={found.warning_codes[at] ?? ""} message={warning} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
