/** Says that the connection is lost, once it has been for a moment. */
import { Button } from "@mantine/core";
import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { useTexts } from "../i18n";
import css from "./ConnectionBanner.module.css";
import { useConnection, useConnectionState } from "./identity";

const PATIENCE_MS = 800;

export function ConnectionBanner() {
  const { t } = useTexts();
  const connection = useConnection();
  const state = useConnectionState();
  const [late, setLate] = useState(false);
  const fine = state === "connected";

  useEffect(() => {
    if (fine) {
      setLate(false);
      return;
    }
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [fine]);

  return (
    <div role="status">
      {late && (
        <div className={css.banner}>
          <WifiOff size={16} aria-hidden />
          <span>{t(state === "refused" ? "connection.refused" : "connection.lost")}</span>
          {(state === "lost" || state === "refused") && (
            <Button size="compact-xs" variant="default" onClick={() => connection.retryNow()}>
              {t("connection.now")}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
