import type OpenAI from "openai";

/** One server, as a driver calls it. Requests end with their signal alone: there is no other timeout. */
export interface Connection {
  /** Root URL without a trailing slash and without /v1: "http://127.0.0.1:8000". */
  readonly url: string;
  /** The official client at `${url}/v1`, without retries, on our own fetch. */
  readonly openai: OpenAI;
  /** Body as JSON; the answer parsed as JSON, or the text itself. @throws EndpointError */
  call(method: "GET" | "POST", path: string, o: { body?: unknown; signal: AbortSignal }): Promise<unknown>;
  close(): void;
}
