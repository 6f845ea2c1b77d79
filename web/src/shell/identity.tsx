/** Who is signed in, and the one connection that everything on the page shares. */
import { useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { type ApiError, api, data, type Schemas, setCsrfToken, whenSignedOut } from "../api/client";
import { Connection, type ConnectionState } from "../events/connection";
import { asApiError } from "../events/sessionStore";

export type Me = Schemas["Me"];

interface Identity {
  me: Me | null;
  /** Not known yet, known, or the service cannot be reached. */
  state: "asking" | "known" | "unreachable";
  error: ApiError | null;
  signIn: (token: string) => Promise<void>;
  signOut: () => Promise<void>;
  ask: () => Promise<void>;
  /** Whether the token has a scope; for `approve`, also one for a group of approvers. */
  may: (scope: string) => boolean;
  /** Whether the token has exactly this scope. */
  holds: (scope: string) => boolean;
}

const IdentityContext = createContext<Identity | null>(null);
const ConnectionContext = createContext<Connection | null>(null);

export function IdentityProvider({ children }: { children: ReactNode }) {
  const [me, setMe] = useState<Me | null>(null);
  const [state, setState] = useState<Identity["state"]>("asking");
  const [error, setError] = useState<ApiError | null>(null);
  const queries = useQueryClient();
  const holder = useRef<string | undefined>(undefined);

  const accept = useCallback(
    (found: Me | null) => {
      // What one person has loaded is not for the next.
      if (found?.user_id !== holder.current) queries.clear();
      holder.current = found?.user_id;
      setCsrfToken(found?.csrf_token ?? null);
      setMe(found);
      setState("known");
      setError(null);
    },
    [queries],
  );

  const ask = useCallback(async () => {
    try {
      accept(await data(api.GET("/api/v1/me")));
    } catch (reason) {
      const failure = asApiError(reason);
      if (failure.status === 401) accept(null);
      else {
        setError(failure);
        setState("unreachable");
      }
    }
  }, [accept]);

  useEffect(() => void ask(), [ask]);
  useEffect(() => whenSignedOut(() => accept(null)), [accept]);

  const value = useMemo<Identity>(
    () => ({
      me,
      state,
      error,
      ask,
      may: (scope) => me?.scopes.some((one) => one === scope || isFor(one, scope)) ?? false,
      holds: (scope) => me?.scopes.includes(scope) ?? false,
      signIn: async (token) => {
        accept(await data(api.POST("/api/v1/login", { body: { token } })));
      },
      signOut: async () => {
        await api.POST("/api/v1/logout");
        accept(null);
      },
    }),
    [me, state, error, ask, accept],
  );
  return <IdentityContext.Provider value={value}>{children}</IdentityContext.Provider>;
}

const isFor = (held: string, scope: string) => scope === "approve" && held.startsWith(`${scope}:`);

export function useIdentity(): Identity {
  const identity = useContext(IdentityContext);
  if (identity === null) throw new Error("IdentityProvider is missing");
  return identity;
}

/** Opens the connection for whoever is signed in, and closes it with them: one for each person. */
export function ConnectionProvider({ owner, children }: { owner: string; children: ReactNode }) {
  const [connection] = useState(() => new Connection());
  const { ask } = useIdentity();
  useEffect(() => {
    connection.start(owner);
    const again = () => connection.retryNow();
    window.addEventListener("online", again);
    // 45xx: our rights have ended, so ask who we are.
    const off = connection.onState((state) => {
      if (state === "refused") void ask();
    });
    return () => {
      window.removeEventListener("online", again);
      off();
      connection.stop();
    };
  }, [connection, owner, ask]);
  return <ConnectionContext.Provider value={connection}>{children}</ConnectionContext.Provider>;
}

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === null) throw new Error("ConnectionProvider is missing");
  return connection;
}

export function useConnectionState(): ConnectionState {
  const connection = useConnection();
  const [state, setState] = useState(connection.state);
  useEffect(() => {
    setState(connection.state);
    return connection.onState(setState);
  }, [connection]);
  return state;
}
