import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { ApiError } from "./api-error.ts";
import { asEvents } from "./replies.ts";

export type ProxyContext = Context<{ Bindings: HttpBindings }>;

export interface AnswerOptions {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** A wait longer than this is bridged with white space: HTTP clients give up on a silent server (Node's after 300 s). */
  readonly keepAliveMs: number;
}

/** Answers a call, however long the model takes. */
export async function answer(c: ProxyContext, work: Promise<object>, o: AnswerOptions): Promise<Response> {
  const written = work.then((body) => (o.stream ? asEvents(body, o.includeUsage) : JSON.stringify(body)));
  const type = o.stream ? "text/event-stream" : "application/json";
  const early = await Promise.race([written, pause(o.keepAliveMs)]);
  if (early !== undefined) return c.body(early, 200, { "content-type": type });

  const { outgoing } = c.env;
  outgoing.writeHead(200, { "content-type": type });
  const breath = o.stream ? ": waiting\n\n" : " ";
  outgoing.write(breath);
  const timer = setInterval(() => outgoing.write(breath), o.keepAliveMs);
  written
    .then((text) => outgoing.end(text))
    // 200 has been said already: the only way left to fail is to hang up.
    .catch(() => outgoing.destroy())
    .finally(() => clearInterval(timer));
  return RESPONSE_ALREADY_SENT;
}

/** A failure as the API tells it. */
export function refuse(error: unknown): Response {
  const known =
    error instanceof ApiError ? error : new ApiError(500, (error as Error)?.message ?? String(error));
  const headers: Record<string, string> = {
    "content-type": "application/json",
    ...(known.retry ? {} : { "x-should-retry": "false" }),
  };
  return new Response(JSON.stringify(known.body), { status: known.status, headers });
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds, undefined).unref();
  });
}
