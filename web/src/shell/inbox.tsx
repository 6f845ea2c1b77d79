/** Signs on every page that something waits for the person, whichever session it belongs to. */
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import { SESSIONS } from "../chat/sessions";
import { inboxAfter, waitsFor } from "../events/inbox";
import type { InboxEntry } from "../events/messages";
import { Alerts } from "./alerts";
import { useConnection, useIdentity } from "./identity";

const NAME = "Tollgate";
const ENDINGS = 20;

/** A request that has ended while the page was open. */
export interface InboxEnding {
  id: string;
  title: string;
  outcome: string;
  by: string | null;
}

interface Pending {
  /** What the person may answer, oldest first. */
  all: readonly InboxEntry[];
  /** Those of them that still wait for the person. */
  waiting: readonly InboxEntry[];
  /** The service has sent the list. */
  known: boolean;
}

const NONE: Pending = { all: [], waiting: [], known: false };
const InboxContext = createContext<Pending>(NONE);
const EndedContext = createContext<readonly InboxEnding[]>([]);

/** Confirmations and questions that wait for the person, oldest first. */
export const useInbox = (): readonly InboxEntry[] => useContext(InboxContext).waiting;

/** Whether the person may answer a request; null before the service has said so. */
export function useMayDecide(id: string | undefined): boolean | null {
  const { all, known } = useContext(InboxContext);
  return known ? all.some((entry) => entry.id === id) : null;
}

/** The newest requests that have ended, oldest first. */
export const useInboxEndings = (): readonly InboxEnding[] => useContext(EndedContext);

export function InboxProvider({ children }: { children: ReactNode }) {
  const connection = useConnection();
  const { me, may } = useIdentity();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [all, setAll] = useState<readonly InboxEntry[]>([]);
  const [known, setKnown] = useState(false);
  const [endings, setEndings] = useState<readonly InboxEnding[]>([]);
  const [alerts] = useState(() => new Alerts());
  const chats = may("chat");
  const decides = may("approve") || chats;
  const userId = me?.user_id;

  useEffect(() => {
    if (!decides) return;
    const off = connection.watchInbox((message) => {
      setAll((before) => inboxAfter(before, message));
      setKnown(true);
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
      alerts.take(
        message,
        (entry) => void placeOf(entry, chats).then((place) => navigate(place)),
        userId,
      );
      void queries.invalidateQueries({ queryKey: ["admin", "confirmations"] });
      // The session may have begun elsewhere, or stand further down.
      void queries.invalidateQueries({ queryKey: SESSIONS });
    });
    return () => {
      off();
      setAll([]);
      setKnown(false);
      alerts.clear();
    };
  }, [decides, chats, userId, connection, queries, navigate, alerts]);

  const pending = useMemo(
    () => ({ all, known, waiting: all.filter((entry) => waitsFor(entry, userId)) }),
    [all, known, userId],
  );
  const count = pending.waiting.length;
  useEffect(() => {
    document.title = count === 0 ? NAME : `(${count}) ${NAME}`;
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (icon === null) return;
    const name = count === 0 ? "icon.svg" : "icon-waiting.svg";
    icon.href = icon.href.replace(/[^/]+$/, name);
  }, [count]);

  return (
    <InboxContext.Provider value={pending}>
      <EndedContext.Provider value={endings}>{children}</EndedContext.Provider>
    </InboxContext.Provider>
  );
}

/** Where an entry is answered: in its session, or in the inbox if that is another user's. */
async function placeOf(entry: InboxEntry, chats: boolean): Promise<string> {
  const path = { session_id: entry.session_id };
  const isOpen =
    chats && (await api.GET("/api/v1/sessions/{session_id}", { params: { path } })).response.ok;
  return isOpen ? `/chat/${entry.session_id}` : `/admin/inbox#${entry.id}`;
}
