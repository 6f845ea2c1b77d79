/** Sending bytes, with how many of them have gone, which `fetch` does not tell. */
import { ApiError, currentCsrfToken, errorIn, tellSignedOut } from "./client";

export interface Watching {
  onSent: (bytes: number) => void;
  /** Stops it; the promise fails with the code `stopped` then. */
  signal: AbortSignal;
}

/** Send a file; what the service answers. Fails with an ApiError. */
export function upload<T>(url: string, file: Blob, { onSent, signal }: Watching): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = () => request.abort();
    const failed = (error: ApiError) => {
      signal.removeEventListener("abort", stop);
      reject(error);
    };
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onerror = () => failed(new ApiError({ code: "unreachable" }, 0));
    request.onabort = () => failed(new ApiError({ code: "stopped" }, 0));
    request.onload = () => {
      signal.removeEventListener("abort", stop);
      if (request.status === 401) tellSignedOut();
      try {
        if (request.status >= 300) throw errorIn(request.responseText, request.status);
        resolve(JSON.parse(request.responseText) as T);
      } catch (error) {
        reject(
          error instanceof ApiError
            ? error
            : new ApiError({ code: "unreadable_answer" }, request.status),
        );
      }
    };
    if (signal.aborted) return failed(new ApiError({ code: "stopped" }, 0));
    signal.addEventListener("abort", stop);
    request.open("POST", url);
    request.setRequestHeader("content-type", "application/octet-stream");
    const token = currentCsrfToken();
    if (token !== null) request.setRequestHeader("X-CSRF-Token", token);
    request.send(file);
  });
}
