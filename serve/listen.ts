import { once } from "node:events";
import type { Server } from "node:http";
import { serve } from "@hono/node-server";

export interface Listening {
  /** "http://127.0.0.1:8000" */
  readonly url: string;
  readonly port: number;
  /** Breaks every connection, and goes on serving. */
  breakConnections(): void;
  /** Takes no more, and breaks off what is under way. */
  close(): Promise<void>;
}

/** Serves an app. Loopback by default: whoever opens it to others should know why. @throws when the port is taken */
export async function listen(
  app: { fetch(request: Request, node: unknown): Response | Promise<Response> },
  { host = "127.0.0.1", port }: { readonly host?: string; readonly port: number },
): Promise<Listening> {
  const server = serve({
    fetch: (request, node) => app.fetch(request, node),
    hostname: host,
    port,
    overrideGlobalObjects: false,
  }) as Server;
  // Idle connections outlive the pauses between a client's turns: reusing one that just closed is an error there.
  server.keepAliveTimeout = 75_000;
  await once(server, "listening");
  const address = server.address();
  const taken = typeof address === "object" && address ? address.port : port;
  const shown = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${taken}`,
    port: taken,
    breakConnections: () => server.closeAllConnections(),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
