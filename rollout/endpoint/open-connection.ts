import OpenAI from "openai";
import { ConfigError } from "../../core/errors.ts";
import type { Connection } from "./connection.ts";
import { endpointFailure, statusFailure } from "./failure.ts";
import { httpClient } from "./http-fetch.ts";
import { readServerUrl } from "./server-url.ts";

/** The client's timer counts in 32 bits: 25 days, which no request reaches. */
const never = 2 ** 31 - 1;

/**
 * A server at `url`, written with or without /v1 and trailing slashes. Nothing is sent yet. Environment variables that
 * the official client reads (a key, an organisation) are not used: a key goes where it is meant to go, nowhere else.
 * @throws ConfigError for what is no http(s) URL
 */
export function openConnection({ url, apiKey }: { url: string; apiKey?: string | undefined }): Connection {
  const at = readServerUrl(url);
  if (at === undefined)
    throw new ConfigError({
      what: "this is not the address of a server",
      where: "endpoint",
      got: url,
      expected: "http://host:port or https://host, without a key, a query or a fragment",
      next: "Write it like http://127.0.0.1:8000; a key goes into an environment variable (endpoint.apiKeyEnv).",
    });
  const client = httpClient();
  const key = apiKey === undefined || apiKey === "" ? undefined : apiKey;
  const openai = new OpenAI({
    baseURL: at.api,
    apiKey: key ?? "none",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: never,
    logLevel: "off",
    fetch: client.fetch,
    // A server without a key may refuse one that it does not know.
    ...(key === undefined && { defaultHeaders: { Authorization: null } }),
  });
  return {
    url: at.root,
    openai,
    async call(method, path, { body, signal }) {
      const where = `${method} ${at.root}${path}`;
      try {
        const answer = await client.fetch(at.root + path, {
          method,
          signal,
          headers: {
            accept: "application/json",
            ...(key !== undefined && { authorization: `Bearer ${key}` }),
            ...(body !== undefined && { "content-type": "application/json" }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        if (!answer.ok) throw statusFailure(answer.status, jsonOrText(text), where);
        const json = /[/+]json\b/iu.test(answer.headers.get("content-type") ?? "");
        return json && text !== "" ? (JSON.parse(text) as unknown) : text;
      } catch (error) {
        throw endpointFailure(error, where, signal);
      }
    },
    close: () => client.close(),
  };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
