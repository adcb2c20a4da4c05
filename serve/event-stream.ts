import type { Context } from "hono";
import { apiError } from "./api-error.ts";

/** Sends one event. */
export type Send = (event: object) => void;

/**
 * Answers with server-sent events: those that `work` sends, then [DONE]. A failure after the head has left is an
 * event too, as vLLM does it. The client going away aborts `work`.
 */
export function eventStream(c: Context, work: (send: Send, signal: AbortSignal) => Promise<void>): Response {
  const gone = new AbortController();
  const client = c.req.raw.signal;
  const leave = () => gone.abort();
  client.addEventListener("abort", leave, { once: true });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (data: string) => {
        if (!gone.signal.aborted) controller.enqueue(encoder.encode(`data: ${data}\n\n`));
      };
      try {
        await work((event) => write(JSON.stringify(event)), gone.signal);
      } catch (error) {
        write(JSON.stringify(apiError(error).body));
      }
      write("[DONE]");
      client.removeEventListener("abort", leave);
      if (!gone.signal.aborted) controller.close();
    },
    cancel: leave,
  });
  return c.body(body, 200, { "Content-Type": "text/event-stream; charset=utf-8" });
}
