/** What was said before a call, for who decides it and cannot open its session. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { useTextsOf } from "../../i18n";
import { approvers } from "../../i18n/texts/admin/approvers";
import { visible } from "../../shared/visible";
import { When } from "../parts/Bits";
import { Empty, Loaded } from "../parts/Page";
import css from "../parts/parts.module.css";

export function Conversation({ confirmationId }: { confirmationId: string }) {
  const a = useTextsOf(approvers);
  const [open, setOpen] = useState(false);
  const query = useQuery({
    queryKey: ["admin", "confirmations", "context", confirmationId],
    enabled: open,
    queryFn: () =>
      data(
        api.GET("/api/v1/confirmations/{confirmation_id}/context", {
          params: { path: { confirmation_id: confirmationId } },
        }),
      ),
  });
  return (
    <details className={css.conversation} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{a("context.title")}</summary>
      {open && (
        <Loaded query={query}>
          {({ messages }) =>
            messages.length === 0 ? (
              <Empty>{a("context.empty")}</Empty>
            ) : (
              <ol>
                {messages.map((message, index) => (
                  <li key={index} data-role={message.role}>
                    <span className={css.under}>
                      {a(message.role === "user" ? "context.user" : "context.assistant")}
                      {" · "}
                      <When at={message.at} />
                    </span>
                    <p className={`${css.turn} foreign`} dir="auto">
                      {visible(message.text)}
                    </p>
                  </li>
                ))}
              </ol>
            )
          }
        </Loaded>
      )}
    </details>
  );
}
