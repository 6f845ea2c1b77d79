/** Own push subscriptions at the service. */
import { ApiError, currentCsrfToken, errorIn, tellSignedOut } from "../api/client";
import { ROOT } from "../api/root";

export interface Device {
  id: string;
  channel_id: string;
  label: string;
  created_at: string;
  /** False once the token that it was made with has ended. */
  is_active: boolean;
}

interface Channel {
  id: string;
  kind: string;
}

/** Devices of the person; `channelId` is null where no channel carries push notifications. */
export interface Push {
  channelId: string | null;
  devices: readonly Device[];
}

const KIND = "web_push";
const SUBSCRIPTIONS = "/me/notification-subscriptions";

export async function push(): Promise<Push> {
  const [{ channels }, { subscriptions }] = await Promise.all([
    send<{ channels: Channel[] }>("GET", "/me/notification-channels"),
    send<{ subscriptions: Device[] }>("GET", SUBSCRIPTIONS),
  ]);
  const ids = channels.filter((one) => one.kind === KIND).map((one) => one.id);
  return {
    channelId: ids[0] ?? null,
    devices: subscriptions.filter((one) => ids.includes(one.channel_id)),
  };
}

export const publicKey = async (): Promise<string> =>
  (await send<{ public_key: string }>("GET", "/me/push-key")).public_key;

export const addDevice = (channelId: string, address: string, label: string): Promise<Device> =>
  send("POST", SUBSCRIPTIONS, { channel_id: channelId, address, label });

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
