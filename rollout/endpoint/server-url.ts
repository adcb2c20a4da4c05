/** A server's address, whichever way it was written. */
export interface ServerUrl {
  /** "http://127.0.0.1:8000": no trailing slash, no /v1. */
  readonly root: string;
  /** Where the OpenAI API stands: `${root}/v1`, or what was written where it names another version. */
  readonly api: string;
}

/** undefined for what is no http(s) address, or holds a key, a query or a fragment. */
export function readServerUrl(text: string): ServerUrl | undefined {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    return undefined;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  if (url.username || url.password || url.search || url.hash) return undefined;
  const whole = url.origin + url.pathname.replace(/\/+$/u, "");
  const api = /\/v\d[^/]*(\/|$)/u.test(url.pathname) ? whole : `${whole}/v1`;
  return { root: api.replace(/\/v1$/u, ""), api };
}
