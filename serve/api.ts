import { createHash, timingSafeEqual } from "node:crypto";
import { Hono } from "hono";
import { adapters } from "./adapters.ts";
import { ApiError, answerError } from "./api-error.ts";
import { type ApiOptions, makeApi } from "./api-options.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { metricsRoute } from "./metrics.ts";
import { models } from "./models.ts";
import { tokenize } from "./tokenize.ts";

/** The vLLM whose API this is. */
const vllmVersion = "0.32.0";

/**
 * vLLM's HTTP API in front of a model: the same paths, bodies, status codes and errors. What vLLM can and this cannot
 * (penalties, min_p, beam search, tools, structured output) is refused with a 400 that says so.
 */
export function createApi(options: ApiOptions): Hono {
  const api = makeApi(options);
  const app = new Hono();
  app.onError((error, c) => answerError(c, error));
  app.notFound((c) => c.json({ detail: "Not Found" }, 404));
  if (options.apiKey !== undefined) guard(app, options.apiKey);
  app.get("/health", (c) => c.body(null, api.healthy ? 200 : 503));
  for (const method of ["GET", "POST"]) app.on(method, "/ping", (c) => c.body(null, api.healthy ? 200 : 503));
  app.get("/version", (c) => c.json({ version: options.version ?? vllmVersion }));
  models(app, api);
  completions(app, api);
  chat(app, api);
  tokenize(app, api);
  metricsRoute(app, api);
  if (options.allowAdapters ?? true) adapters(app, api);
  app.post("/inference/*", () => {
    const message =
      "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them.";
    throw new ApiError(403, "PermissionDeniedError", message);
  });
  const paths = new Set(app.routes.map(({ path }) => path).filter((path) => !path.includes("*")));
  for (const path of paths) app.all(path, (c) => c.json({ detail: "Method Not Allowed" }, 405));
  return app;
}

/** 401 under /v1 and /inference without the key; /health, /metrics and /tokenize stay open, as vLLM's do. */
function guard(app: Hono, apiKey: string): void {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(apiKey);
  for (const path of ["/v1/*", "/inference/*"])
    app.use(path, async (c, next) => {
      const [scheme = "", key = ""] = (c.req.header("authorization") ?? "").split(/ +(.*)/s);
      if (scheme.toLowerCase() !== "bearer" || !timingSafeEqual(digest(key), expected))
        return c.json({ error: "Unauthorized" }, 401);
      await next();
      return undefined;
    });
}
