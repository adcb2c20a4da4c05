import { setMaxListeners } from "node:events";
import http from "node:http";
import https from "node:https";

/** A connection that was refused, reset or closed half-way: what `fetch` calls a TypeError. */
export class ConnectionError extends TypeError {
  /** Of the system, e.g. "ECONNREFUSED". */
  readonly code: string | undefined;
  /** The socket was an idle one, and broke before any answer: the server had closed it, and has not seen the request. */
  readonly stale: boolean;
  constructor(what: string, cause: unknown, stale = false) {
    const { code, message } = (cause ?? {}) as { code?: string; message?: string };
    super(message === undefined ? what : `${what}: ${message}`, { cause });
    this.name = "ConnectionError";
    this.code = code;
    this.stale = stale;
  }
}

export interface HttpClient {
  /**
   * `fetch` without time limits of its own: a request ends with its answer or its signal. An abort destroys the socket,
   * also while the body is read, and rejects with the signal's reason. Redirects are not followed.
   * @throws ConnectionError
   */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Destroys all sockets, also those in use. */
  close(): void;
}

/** Servers close idle sockets after 5 s (uvicorn, Node): ours go first, or a request could meet a closing one. */
const idleMs = 4_000;

/** Keep-alive sockets without a limit on their number; a free one is taken from the end of a list, never searched for. */
export function httpClient(o: { idleMs?: number } = {}): HttpClient {
  const options = {
    keepAlive: true,
    keepAliveMsecs: 30_000,
    maxFreeSockets: 4_096,
    scheduling: "lifo",
    timeout: o.idleMs ?? idleMs,
  } as const;
  const agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };
  return {
    async fetch(input, init) {
      const outgoing = await prepare(input, init);
      outgoing.signal?.throwIfAborted();
      return send(outgoing, agents).catch((error) => {
        if (!(error instanceof ConnectionError && error.stale)) throw error;
        // The clock of idle sockets stands still while the process computes: all of them may be stale by now.
        for (const agent of Object.values(agents)) dropFree(agent);
        return send(outgoing, agents);
      });
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function dropFree({ freeSockets }: http.Agent): void {
  for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

interface Outgoing {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

async function prepare(input: string | URL | Request, init: RequestInit = {}): Promise<Outgoing> {
  const { body } = init;
  if (!(input instanceof Request) && (body == null || typeof body === "string" || body instanceof Uint8Array))
    return {
      url: new URL(input),
      method: init.method ?? "GET",
      headers: init.headers instanceof Headers ? init.headers : new Headers(init.headers),
      body: body ?? undefined,
      signal: init.signal ?? undefined,
    };
  // Forms, blobs and streams: the standard class knows how to write them.
  const whole: RequestInit & { duplex: "half" } = { ...init, duplex: "half" };
  const request = new Request(input, whole);
  const bytes = new Uint8Array(await request.arrayBuffer());
  return {
    url: new URL(request.url),
    method: request.method,
    headers: request.headers,
    body: bytes.length > 0 ? bytes : undefined,
    signal: init.signal ?? (input instanceof Request ? input.signal : undefined),
  };
}

function send(
  { url, method, headers, body, signal }: Outgoing,
  agents: { "http:": http.Agent; "https:": https.Agent },
): Promise<Response> {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new TypeError(`cannot fetch ${url.protocol} URLs`);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, {
      method,
      headers: { ...Object.fromEntries(headers), "accept-encoding": "identity" },
      agent: agents[url.protocol as "http:"],
      timeout: 0, // The agent's is for idle sockets alone.
    });
    let answer: http.IncomingMessage | undefined;
    const failed = (what: string, cause?: unknown) =>
      signal?.aborted ? signal.reason : new ConnectionError(what, cause);
    const abort = () => (answer ?? request).destroy();
    if (signal) setMaxListeners(0, signal); // Each is taken off again.
    signal?.addEventListener("abort", abort, { once: true });
    const done = () => signal?.removeEventListener("abort", abort);
    request.on("close", done);
    request.on("error", (cause) => {
      done();
      const stale = request.reusedSocket && answer === undefined && !signal?.aborted;
      reject(
        stale
          ? new ConnectionError("the connection failed", cause, true)
          : failed("the connection failed", cause),
      );
    });
    // Destroyed without an error, by our own abort.
    request.on("close", () => {
      if (answer === undefined) reject(failed("the connection closed without an answer"));
    });
    request.on("response", (message) => {
      answer = message;
      try {
        resolve(toResponse(message, method, failed));
      } catch (cause) {
        message.destroy();
        reject(failed("the answer is no HTTP that can be read", cause));
      }
    });
    request.end(body);
  });
}

const withoutBody = new Set([204, 205, 304]);

function toResponse(
  message: http.IncomingMessage,
  method: string,
  failed: (what: string, cause?: unknown) => unknown,
): Response {
  const status = message.statusCode ?? 0;
  const { rawHeaders } = message;
  const headers: [string, string][] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    headers.push([rawHeaders[i] as string, rawHeaders[i + 1] as string]);
  const init = { status, statusText: message.statusMessage ?? "", headers };
  if (withoutBody.has(status) || method === "HEAD") {
    message.resume();
    return new Response(null, init);
  }
  return new Response(bodyOf(message, failed), init);
}

/** The body as it comes. It ends only when all of it has come: half a body is an error. */
function bodyOf(message: http.IncomingMessage, failed: (what: string, cause?: unknown) => unknown) {
  let open = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const close = (act: () => void) => {
        if (open) act();
        open = false;
      };
      const broken = (cause?: unknown) =>
        close(() => controller.error(failed("the connection closed half-way through the answer", cause)));
      message.on("data", (chunk: Buffer) => {
        if (!open) return;
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) message.pause();
      });
      message.on("end", () => (message.complete ? close(() => controller.close()) : broken()));
      message.on("error", broken);
      message.on("close", () => broken());
    },
    pull: () => void message.resume(),
    cancel() {
      open = false;
      message.destroy();
    },
  });
}
