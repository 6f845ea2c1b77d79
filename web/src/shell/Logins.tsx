/** Browsers that are signed in: since when, when last used, and a way to sign one out. */
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Foreign, Pill, When } from "../admin/parts/Bits";
import { Loaded } from "../admin/parts/Page";
import css from "../admin/parts/parts.module.css";
import { type Column, Table } from "../admin/parts/Table";
import { api, data, type Schemas } from "../api/client";
import { useTexts } from "../i18n";
import { notifyDone, notifyError } from "./notify";

type Login = Schemas["LoginView"];

interface Props {
  /** Of every token, for administrators; of one's own otherwise. */
  everybody?: boolean;
  /** What a token is called. */
  nameOf?: (tokenId: string) => string | undefined;
}

export default function Logins({ everybody = false, nameOf }: Props) {
  const { t } = useTexts();
  const logins = useQuery({
    queryKey: ["admin", "logins", everybody],
    queryFn: () => data(api.GET("/api/v1/logins", { params: { query: { everybody } } })),
    // Whoever looks wants to know how it is now.
    staleTime: 0,
  });
  const whose: Column<Login>[] = [
    {
      head: t("field.user"),
      wide: true,
      cell: (login) => (
        <>
          <Foreign>{login.user_id}</Foreign>
          <span className={css.under}>
            {login.token_id === null ? (
              t("logins.settings_token")
            ) : (
              <Foreign mono>{nameOf?.(login.token_id) ?? login.token_id}</Foreign>
            )}
          </span>
        </>
      ),
    },
  ];
  const until: Column<Login>[] = [
    { head: t("field.until"), cell: (login) => <When at={login.expires_at} /> },
  ];
  return (
    <Loaded query={logins}>
      {(found) => (
        <Table
          label={t("logins.title")}
          rows={found.logins}
          id={(login) => login.id}
          empty={t("logins.empty")}
          columns={[
            ...(everybody ? whose : []),
            { head: t("logins.since"), cell: (login) => <When at={login.created_at} /> },
            { head: t("tokens.used"), cell: (login) => <When at={login.last_used_at} /> },
            ...(everybody ? until : []),
            {
              head: t("field.actions"),
              cell: (login) =>
                login.is_this ? (
                  <Pill tone="ok">{t("logins.this")}</Pill>
                ) : (
                  <SignOut login={login} />
                ),
            },
          ]}
        />
      )}
    </Loaded>
  );
}

function SignOut({ login }: { login: Login }) {
  const { t, language } = useTexts();
  const queries = useQueryClient();
  const since = new Date(login.created_at).toLocaleString(language);
  const end = useMutation({
    mutationFn: () =>
      data(api.DELETE("/api/v1/logins/{login_id}", { params: { path: { login_id: login.id } } })),
    onSuccess: () => notifyDone(t("logins.ended")),
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin", "logins"] }),
  });
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={end.isPending}
      aria-label={t("logins.sign_out", { user: login.user_id, since })}
      onClick={() => end.mutate()}
    >
      {t("user.sign_out")}
    </Button>
  );
}
