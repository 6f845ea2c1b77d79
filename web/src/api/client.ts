/** REST, typed by the service's own OpenAPI document. */
import createClient, { type Middleware } from "openapi-fetch";
import { ROOT } from "./root";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

/** What a request ended in when it did not do what was asked. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly details: Record<string, unknown>;

  constructor(problem: Partial<Problem> & { code: string }, status: number) {
    super(problem.detail ?? problem.code);
    this.name = "ApiError";
    this.code = problem.code;
    this.status = status;
    this.retryable = problem.retryable ?? false;
    this.details = problem.details ?? {};
  }
}

let csrfToken: string | null = null;
const onSignedOut = new Set<() => void>();

/** What `GET /me` gave; sent with whatever changes something. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** What `setCsrfToken` was given, for what is not sent by `api`. */
export const currentCsrfToken = (): string | null => csrfToken;

/** Be told when the service does not know us any more. */
export function whenSignedOut(listener: () => void): () => void {
  onSignedOut.add(listener);
  return () => onSignedOut.delete(listener);
}

export function tellSignedOut(): void {
  for (const listener of onSignedOut) listener();
}

const guard: Middleware = {
  onRequest({ request }) {
    if (csrfToken !== null && request.method !== "GET") {
      request.headers.set("X-CSRF-Token", csrfToken);
    }
    return request;
  },
  async onResponse({ response, request }) {
    if (response.ok) return response;
    if (response.status === 401 && !request.url.endsWith("/login")) tellSignedOut();
    throw errorIn(await response.text(), response.status);
  },
  onError({ error }) {
    return error instanceof ApiError ? error : new ApiError({ code: "unreachable" }, 0);
  },
};

/** What an answer that is no success says. */
export function errorIn(body: string, status: number): ApiError {
  try {
    const problem = JSON.parse(body) as Problem;
    if (typeof problem.code === "string") return new ApiError(problem, status);
  } catch {
    // Not ours: a proxy's page, or nothing at all.
  }
  return new ApiError({ code: "unreadable_answer" }, status);
}

export const api = createClient<paths>({ baseUrl: ROOT, credentials: "same-origin" });
api.use(guard);

/** The body of an answer; errors have been thrown by then. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  const { data: body } = await answer;
  return body as T;
}

export const artifactUrl = (id: string): string =>
  `${ROOT}/api/v1/artifacts/${encodeURIComponent(id)}`;
