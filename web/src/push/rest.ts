/** Own push subscriptions at the service. */
import { ApiError, currentCsrfToken, errorIn, tellSignedOut } from "../api/client";
import { ROOT } from "../api/root";

export interface Device {
  id: string;
  kind: string;
  label: string;
  created_at: string;
}

export const KIND = "web_push";
const SUBSCRIPTIONS = "/me/notification-subscriptions";

export const publicKey = async (): Promise<string> =>
  (await send<{ public_key: string }>("GET", "/me/push-key")).public_key;

export const devices = async (): Promise<Device[]> =>
  (await send<{ subscriptions: Device[] }>("GET", SUBSCRIPTIONS)).subscriptions.filter(
    (one) => one.kind === KIND,
  );

export const addDevice = (address: string, label: string): Promise<Device> =>
  send("POST", SUBSCRIPTIONS, { kind: KIND, address, label });

export const removeDevice = (id: string): Promise<unknown> =>
  send("DELETE", `${SUBSCRIPTIONS}/${encodeURIComponent(id)}`);

async function send<T>(method: string, path: string, body?: object): Promise<T> {
  const token = currentCsrfToken();
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${ROOT}/api/v1${path}`, {
      method,
      credentials: "same-origin",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === null || method === "GET" ? {} : { "x-csrf-token": token }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    text = await response.text();
  } catch {
    throw new ApiError({ code: "unreachable" }, 0);
  }
  if (response.status === 401) tellSignedOut();
  if (!response.ok) throw errorIn(text, response.status);
  return (text === "" ? null : JSON.parse(text)) as T;
}
