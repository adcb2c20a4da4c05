import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { ConfigError } from "../../core/errors.ts";
import { listen } from "../listen.ts";
import { answer, type ProxyContext, refuse } from "./answer.ts";
import { ApiError } from "./api-error.ts";
import { chatBody, completionBody, parseBody, postBody } from "./requests.ts";
import { gone, Rollout, type RolloutOptions } from "./rollout.ts";

export interface ProxyOptions {
  /** Loopback unless given. */
  readonly host?: string;
  /** 0, the default, is any free one. */
  readonly port?: number;
  /** Agents must send it as their API key, when given. */
  readonly apiKey?: string;
  /** Longest silence towards an agent that waits for an answer; default 60 s. */
  readonly keepAliveMs?: number;
  /** Lets agents open rollouts of their own by POST /rollouts, and says what stands behind one. */
  readonly create?: (body: unknown) => OpenOptions;
  /** Told of each rollout that is opened. */
  readonly onOpen?: (rollout: OpenRollout) => void;
}

/** A rollout without an id gets one. */
export interface OpenOptions extends Omit<RolloutOptions, "id"> {
  readonly id?: string | undefined;
}

/** A rollout behind a base URL of its own. */
export interface OpenRollout extends Pick<Rollout, "id" | "finished" | "close"> {
  /** What an agent's OpenAI client takes as its base URL; `${baseUrl}/reward` takes the reward. */
  readonly baseUrl: string;
}

export interface RecordingProxy {
  readonly url: string;
  readonly apiKey: string | undefined;
  /** @throws ApiError for an id that is taken */
  open(options: OpenOptions): OpenRollout;
  /** Ends every open rollout and the server. */
  close(): Promise<void>;
}

/** Largest request body, bytes: a long conversation is some hundred kilobytes. */
const largestBody = 64 * 2 ** 20;

/**
 * An OpenAI-compatible server that stands between agents and a policy, one base URL a rollout, and records what
 * passes: an agent becomes an environment by the URL it is given.
 */
export async function startProxy(options: ProxyOptions = {}): Promise<RecordingProxy> {
  const { host = "127.0.0.1", port = 0, apiKey } = options;
  const rollouts = new Map<string, Rollout>();
  const over = new Set<string>();
  let count = 0;

  const open = ({ id = `r${++count}`, ...rest }: OpenOptions): OpenRollout => {
    if (rollouts.has(id) || over.has(id)) throw new ApiError(409, `there is a rollout ${id} already`);
    const rollout = new Rollout({ ...rest, id });
    rollouts.set(id, rollout);
    const forget = () => {
      rollouts.delete(id);
      over.add(id);
    };
    rollout.finished.then(forget, forget);
    const baseUrl = `${url}/rollouts/${encodeURIComponent(id)}/v1`;
    const opened = { id, baseUrl, finished: rollout.finished, close: () => rollout.close() };
    options.onOpen?.(opened);
    return opened;
  };
  const find = (c: ProxyContext): Rollout => {
    const id = c.req.param("id") ?? "";
    const rollout = rollouts.get(id);
    if (rollout) return rollout;
    throw over.has(id) ? gone(id) : new ApiError(404, `there is no rollout ${id}`);
  };

  const app = routes(options, open, find);
  const server = await listen(app as unknown as Parameters<typeof listen>[0], { host, port }).catch(
    (cause) => {
      throw cannotListen(host, port, cause);
    },
  );
  const { url } = server;
  return {
    url,
    apiKey,
    open,
    async close() {
      await Promise.allSettled([...rollouts.values()].map((rollout) => rollout.close()));
      await server.close();
    },
  };
}

function routes(
  { apiKey, keepAliveMs = 60_000, create }: ProxyOptions,
  open: RecordingProxy["open"],
  find: (c: ProxyContext) => Rollout,
) {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.onError((error) => refuse(error));
  app.notFound((c) => refuse(new ApiError(404, `no such endpoint: ${c.req.method} ${c.req.path}`)));
  app.use("/rollouts/*", async (c, next) => {
    if (apiKey !== undefined && c.req.header("authorization") !== `Bearer ${apiKey}`)
      throw new ApiError(401, "wrong API key");
    await next();
  });
  app.get("/health", (c) => c.body(null, 200));
  app.post("/rollouts", async (c) => {
    if (!create) throw new ApiError(404, "this proxy opens its rollouts itself");
    const { id, baseUrl } = open(create(await jsonOf(c)));
    return c.json({ id, baseUrl });
  });
  app.post("/rollouts/:id/v1/chat/completions", async (c) => {
    const rollout = find(c);
    const body = parseBody(chatBody, await jsonOf(c));
    return answer(c, rollout.chat(body, c.req.raw.signal), { ...streaming(body), keepAliveMs });
  });
  app.post("/rollouts/:id/v1/completions", async (c) => {
    const rollout = find(c);
    const body = parseBody(completionBody, await jsonOf(c));
    return answer(c, rollout.complete(body, c.req.raw.signal), { ...streaming(body), keepAliveMs });
  });
  app.get("/rollouts/:id/v1/models", async (c) => c.json(await find(c).models(c.req.raw.signal)));
  for (const path of ["/rollouts/:id/reward", "/rollouts/:id/v1/reward"])
    app.post(path, async (c) => {
      const rollout = find(c);
      rollout.post(parseBody(postBody, await jsonOf(c)));
      return c.json({ id: rollout.id });
    });
  app.post("/rollouts/:id/close", async (c) => {
    const rollout = find(c);
    await rollout.close();
    return c.json({ id: rollout.id });
  });
  return app;
}

const streaming = (body: {
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
}) => ({ stream: body.stream === true, includeUsage: body.stream_options?.include_usage === true });

/** @throws ApiError 400 or 413 */
async function jsonOf(c: ProxyContext): Promise<unknown> {
  if (Number(c.req.header("content-length") ?? 0) > largestBody)
    throw new ApiError(413, "the body is too large");
  const text = await c.req.text();
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new ApiError(400, "the body is no JSON");
  }
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): ConfigError {
  return new ConfigError({
    what: "the proxy cannot listen",
    where: `${host}:${port}`,
    got: cause.code ?? cause.message,
    next:
      cause.code === "EADDRINUSE" ? "Name another port, or 0 for any that is free." : "Name another address.",
    cause,
  });
}
