/** Chat accounts that answer with buttons: linked by a code that is shown once. */
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Foreign, When } from "../admin/parts/Bits";
import { Loaded, Section } from "../admin/parts/Page";
import css from "../admin/parts/parts.module.css";
import { Table } from "../admin/parts/Table";
import { api, data, type Schemas } from "../api/client";
import { useTexts, useTextsOf } from "../i18n";
import { approvals } from "../i18n/texts/approvals";
import { Output } from "../renderers/Output";
import { notifyDone, notifyError } from "../shell/notify";

type Account = Schemas["ChatLinkView"];

const KEY = ["admin", "chat-links"];
const NAMES: Readonly<Record<Account["channel"], string>> = {
  slack: "Slack",
  telegram: "Telegram",
};

export function ChatAccounts() {
  const { t, language } = useTexts();
  const part = useTextsOf(approvals);
  const query = useQuery({ queryKey: KEY, queryFn: () => data(api.GET("/api/v1/me/chat-links")) });
  const code = useMutation({
    mutationFn: () => data(api.POST("/api/v1/me/chat-links/code")),
    onError: notifyError,
  });
  const until = code.data === undefined ? null : new Date(code.data.expires_at);
  return (
    <Section title={part("chats.title")} lead={part("chats.lead")}>
      <div className={css.stack}>
        <div>
          <Button
            size="xs"
            variant="default"
            loading={code.isPending}
            onClick={() => code.mutate()}
          >
            {part("chats.link")}
          </Button>
        </div>
        {code.data !== undefined && until !== null && (
          <div role="status" className={css.stack}>
            <p className={css.note}>
              {part("chats.send", { time: until.toLocaleTimeString(language) })}
            </p>
            <Output text={`link ${code.data.link_code}`} label={part("chats.message")} />
          </div>
        )}
        <Loaded query={query}>
          {({ links }) =>
            links.length > 0 && (
              <Table
                label={part("chats.title")}
                rows={links}
                id={(account) => account.id}
                empty=""
                columns={[
                  {
                    head: part("chats.account"),
                    wide: true,
                    cell: (account) => (
                      <>
                        {NAMES[account.channel]} <Foreign mono>{account.sender}</Foreign>
                      </>
                    ),
                  },
                  { head: part("push.added"), cell: (account) => <When at={account.created_at} /> },
                  {
                    head: t("field.actions"),
                    cell: (account) => <Unlink account={account} />,
                  },
                ]}
              />
            )
          }
        </Loaded>
      </div>
    </Section>
  );
}

function Unlink({ account }: { account: Account }) {
  const part = useTextsOf(approvals);
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () =>
      data(
        api.DELETE("/api/v1/me/chat-links/{link_id}", {
          params: { path: { link_id: account.id } },
        }),
      ),
    onSuccess: () => notifyDone(part("chats.unlinked")),
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={end.isPending}
      aria-label={part("chats.unlink.which", {
        account: `${NAMES[account.channel]} ${account.sender}`,
      })}
      onClick={() => end.mutate()}
    >
      {part("chats.unlink")}
    </Button>
  );
}
