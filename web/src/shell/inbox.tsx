/** Signs on every page that something waits for the person, whichever session it belongs to. */
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { useNavigate } from "react-router";
import { SESSIONS } from "../chat/sessions";
import { inboxAfter } from "../events/inbox";
import type { InboxEntry } from "../events/messages";
import { Alerts } from "./alerts";
import { useConnection, useIdentity } from "./identity";

const NAME = "Tollgate";
const ENDINGS = 20;
const InboxContext = createContext<readonly InboxEntry[]>([]);
const EndedContext = createContext<readonly InboxEnding[]>([]);

/** A request that has ended while the page was open. */
export interface InboxEnding {
  id: string;
  title: string;
  outcome: string;
  by: string | null;
}

/** Confirmations and questions that the person may answer, oldest first. */
export const useInbox = (): readonly InboxEntry[] => useContext(InboxContext);

/** The newest requests that have ended, oldest first. */
export const useInboxEndings = (): readonly InboxEnding[] => useContext(EndedContext);

export function InboxProvider({ children }: { children: ReactNode }) {
  const connection = useConnection();
  const { may } = useIdentity();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [entries, setEntries] = useState<readonly InboxEntry[]>([]);
  const [endings, setEndings] = useState<readonly InboxEnding[]>([]);
  const [alerts] = useState(() => new Alerts());
  const decides = may("approve") || may("chat");

  useEffect(() => {
    if (!decides) return;
    const off = connection.watchInbox((message) => {
      setEntries((before) => inboxAfter(before, message));
      if (message.type === "inbox_changed" && message.state === "closed") {
        const { entry, outcome, by } = message;
        const ending = {
          id: entry.id,
          title: entry.title,
          outcome: outcome ?? "",
          by: by ?? null,
        };
        setEndings((before) => [...before, ending].slice(-ENDINGS));
      }
      alerts.take(message, (entry) => navigate(`/chat/${entry.session_id}`));
      void queries.invalidateQueries({ queryKey: ["admin", "confirmations"] });
      // The session may have begun elsewhere, or stand further down.
      void queries.invalidateQueries({ queryKey: SESSIONS });
    });
    return () => {
      off();
      setEntries([]);
      alerts.clear();
    };
  }, [decides, connection, queries, navigate, alerts]);

  const count = entries.length;
  useEffect(() => {
    document.title = count === 0 ? NAME : `(${count}) ${NAME}`;
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (icon === null) return;
    const name = count === 0 ? "icon.svg" : "icon-waiting.svg";
    icon.href = icon.href.replace(/[^/]+$/, name);
  }, [count]);

  return (
    <InboxContext.Provider value={entries}>
      <EndedContext.Provider value={endings}>{children}</EndedContext.Provider>
    </InboxContext.Provider>
  );
}
