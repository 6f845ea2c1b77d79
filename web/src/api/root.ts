/** Where the service is, without a slash at the end: a proxy may show it below a path. */
export const ROOT = import.meta.env.DEV
  ? ""
  : new URL("..", import.meta.url).pathname.replace(/\/$/, "");
