/** Exchanges a token for a cookie. */
import { Button, PasswordInput, Text, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { ApiError } from "../api/client";
import { asApiError } from "../events/sessionStore";
import { useTexts } from "../i18n";
import { Appearance } from "./Appearance";
import { Brand } from "./Brand";
import { ErrorView } from "./ErrorView";
import { useIdentity } from "./identity";
import css from "./SignIn.module.css";

export function SignIn() {
  const { t } = useTexts();
  const { signIn } = useIdentity();
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (busy || token.trim() === "") return;
    setBusy(true);
    setError(null);
    try {
      await signIn(token.trim());
    } catch (reason) {
      setError(asApiError(reason));
      setBusy(false);
    }
  }

  return (
    <main className={css.page}>
      <form className={css.card} onSubmit={submit}>
        <Brand />
        <div>
          <Title order={1} size="h3">
            {t("signin.title")}
          </Title>
          <Text c="dimmed" size="sm" mt={4}>
            {t("signin.lead")}
          </Text>
        </div>
        {/* Lets password managers tell the accounts of several services apart. */}
        <input
          type="text"
          name="username"
          autoComplete="username"
          value="tollgate"
          readOnly
          hidden
        />
        <PasswordInput
          label={t("signin.token")}
          description={t("signin.token.help")}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ "aria-label": t("signin.show") }}
          data-autofocus
          autoFocus
          required
          withAsterisk={false}
        />
        {error !== null && <ErrorView error={error} compact />}
        <Button type="submit" loading={busy} fullWidth>
          {t("signin.submit")}
        </Button>
        <Text size="xs" c="dimmed">
          {t("signin.kept")}
        </Text>
        <Appearance />
      </form>
    </main>
  );
}
