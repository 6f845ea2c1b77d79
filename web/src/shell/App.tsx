/** The application: providers around the frame and its pages. */
import { Loader, localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { BrowserRouter, Navigate, Route, useMatch } from "react-router";
import { ADMIN_PAGES } from "../admin/pages";
import { ApiError } from "../api/client";
import { ROOT } from "../api/root";
import { useTexts } from "../i18n";
import { ErrorBoundary } from "./ErrorBoundary";
import { ErrorView } from "./ErrorView";
import { ConnectionProvider, IdentityProvider, useIdentity } from "./identity";
import { InboxProvider } from "./inbox";
import { Sections } from "./Sections";
import { Shell } from "./Shell";
import { SignIn } from "./SignIn";
import { StatusPage } from "./StatusPage";
import { theme } from "./theme";

const ApprovalPage = lazy(() => import("../approvals/ApprovalPage"));
const ChatPage = lazy(() => import("../chat/ChatPage"));
const admin = ADMIN_PAGES.map((page) => ({ ...page, Page: lazy(page.load) }));

const colors = localStorageColorSchemeManager({ key: "tollgate-colors" });
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 2 && error instanceof ApiError && error.retryable,
    },
  },
});

export function App() {
  return (
    <MantineProvider
      theme={theme}
      colorSchemeManager={colors}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <Notifications position="bottom-right" limit={4} />
      <ErrorBoundary>
        <QueryClientProvider client={queries}>
          <IdentityProvider>
            <BrowserRouter basename={ROOT}>
              <Gate />
            </BrowserRouter>
          </IdentityProvider>
        </QueryClientProvider>
      </ErrorBoundary>
    </MantineProvider>
  );
}

/** Nothing is shown to whoever the service does not know. */
function Gate() {
  const { me, state, error, ask } = useIdentity();
  const { t } = useTexts();
  if (state === "unreachable" && error !== null) {
    return (
      <StatusPage>
        <ErrorView error={error} onRetry={() => void ask()} />
      </StatusPage>
    );
  }
  if (state === "asking") {
    return (
      <StatusPage>
        <Loader aria-label={t("common.loading")} role="status" />
      </StatusPage>
    );
  }
  if (me === null) return <SignIn />;
  return (
    <ConnectionProvider key={me.user_id} owner={me.user_id}>
      <InboxProvider>
        <Pages />
      </InboxProvider>
    </ConnectionProvider>
  );
}

function Pages() {
  const { may } = useIdentity();
  const { t } = useTexts();
  const first = admin.find((page) => may(page.scope));
  const loading = <Loader m="xl" aria-label={t("common.loading")} role="status" />;
  const request = useMatch("/approvals/:id")?.params.id;
  if (request !== undefined) {
    return (
      <ErrorBoundary>
        <Suspense fallback={loading}>
          <ApprovalPage key={request} id={request} />
        </Suspense>
      </ErrorBoundary>
    );
  }
  // Who only approves, or only administers, has no sessions.
  const home = may("chat") || first === undefined ? "/chat" : `/admin/${first.path}`;
  return (
    <Shell>
      <ErrorBoundary>
        <Suspense fallback={loading}>
          <Sections>
            <Route path="/" element={<Navigate to={home} replace />} />
            <Route
              path="/chat"
              element={home === "/chat" ? <ChatPage /> : <Navigate to={home} replace />}
            />
            <Route path="/chat/:sessionId" element={<ChatPage />} />
            {first !== undefined && (
              <Route path="/admin" element={<Navigate to={`/admin/${first.path}`} replace />} />
            )}
            {admin.map(({ path, scope, Page }) => (
              <Route
                key={path}
                path={`/admin/${path}/*`}
                element={
                  may(scope) ? <Page /> : <StatusPage title={t("page.forbidden", { scope })} />
                }
              />
            ))}
          </Sections>
        </Suspense>
      </ErrorBoundary>
    </Shell>
  );
}
