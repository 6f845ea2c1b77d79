/** What agents brought before a person: a decision that is not theirs. */
import { Button, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import { Facts, Foreign, Id, Pill, When } from "../parts/Bits";
import { Empty, Loaded, More, Section } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";

type Ticket = Schemas["AdminTicket"];

export function Tickets() {
  const { t } = useTexts();
  const tickets = usePages<Ticket>(
    ["tickets"],
    async (before) => {
      const query = { limit: 50, ...(before === undefined ? {} : { before: String(before) }) };
      const page = await data(api.GET("/api/v1/admin/tickets", { params: { query } }));
      return { rows: page.tickets, next: page.next_before };
    },
    { refetchInterval: 5000 },
  );
  return (
    <>
      <Loaded query={tickets}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>{t("tickets.empty")}</Empty>
          ) : (
            rows.map((ticket) => <Card key={ticket.id} ticket={ticket} />)
          )
        }
      </Loaded>
      <More query={tickets} />
    </>
  );
}

function Card({ ticket }: { ticket: Ticket }) {
  const { t } = useTexts();
  const tone = ticket.severity === "high" ? "bad" : ticket.severity === "medium" ? "warn" : "quiet";
  return (
    <Section
      title={<Foreign>{ticket.reason}</Foreign>}
      lead={<When at={ticket.created_at} />}
      actions={
        <>
          <Pill tone={tone}>{t(`tickets.severity.${ticket.severity}`)}</Pill>
          <Pill tone={ticket.status === "open" ? "warn" : "ok"}>
            {t(`tickets.status.${ticket.status}`)}
          </Pill>
        </>
      }
    >
      <div className={css.stack}>
        {ticket.context !== "" && <pre className={`${css.block} foreign`}>{ticket.context}</pre>}
        <Facts
          facts={[
            [t("field.agent"), ticket.agent_id ?? "–"],
            [t("tickets.to"), t(`tickets.to.${ticket.to}` as "tickets.to.human")],
            [t("tickets.waits"), t(ticket.blocking ? "common.yes" : "common.no")],
            [t("field.session"), <Id key="session" value={ticket.session_id} />],
          ]}
        />
        {ticket.answer != null && (
          <p className={`${css.note} foreign`} data-tone="ok">
            {ticket.by}: {ticket.answer}
          </p>
        )}
        {ticket.status === "open" && <AnswerForm ticket={ticket} />}
      </div>
    </Section>
  );
}

function AnswerForm({ ticket }: { ticket: Ticket }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const [words, setWords] = useState("");
  const params = { path: { ticket_id: ticket.id }, header: ifMatch(ticket.version) };
  const change = useMutation({
    mutationFn: (answer: string | null) =>
      answer === null
        ? data(api.POST("/api/v1/admin/tickets/{ticket_id}/close", { params }))
        : data(api.POST("/api/v1/admin/tickets/{ticket_id}/answer", { params, body: { answer } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin", "tickets"] }),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (words.trim() !== "") change.mutate(words.trim());
  }
  return (
    <form onSubmit={submit}>
      <Textarea
        label={t("tickets.answer")}
        autosize
        minRows={2}
        value={words}
        onChange={(event) => setWords(event.currentTarget.value)}
      />
      {change.error !== null && <ErrorView error={asApiError(change.error)} compact />}
      <div className={css.formFoot}>
        <Button variant="default" disabled={change.isPending} onClick={() => change.mutate(null)}>
          {t("tickets.close")}
        </Button>
        <Button type="submit" loading={change.isPending} disabled={words.trim() === ""}>
          {t("tickets.send")}
        </Button>
      </div>
    </form>
  );
}
