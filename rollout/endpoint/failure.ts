import { APIConnectionError, APIError } from "openai";
import { z } from "zod";
import { EndpointError, type EndpointFailure } from "./error.ts";
import { ConnectionError } from "./http-fetch.ts";

/**
 * What to throw for `error`: the signal's reason, untouched, once it is aborted; an EndpointError for whatever a
 * server or the network did; `error` itself for the rest, which is a bug.
 * @param where method and URL
 */
export function endpointFailure(error: unknown, where: string, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ConnectionError || error instanceof APIConnectionError) return broken(error, where);
  if (error instanceof APIError)
    return error.status === undefined
      ? broken(error, where)
      : statusFailure(error.status, error.error ?? error.message, where);
  if (error instanceof SyntaxError)
    return new EndpointError("malformed", {
      what: "the answer is not JSON",
      where,
      got: error.message,
      cause: error,
    });
  return error;
}

function broken(error: Error, where: string): EndpointError {
  const cause = error instanceof APIConnectionError && error.cause instanceof Error ? error.cause : error;
  return new EndpointError("connection", {
    what: "the connection broke",
    where,
    got: cause.message,
    next: "Is the server running there?",
    cause,
  });
}

/** Every dialect of an error body: vLLM and OpenAI, FastAPI, SGLang, plain text. */
const errorBody = z.object({
  error: z.union([z.string(), z.looseObject({ message: z.string() })]).optional(),
  message: z.string().optional(),
  error_message: z.string().optional(),
  detail: z.unknown().optional(),
  param: z.unknown().optional(),
  code: z.unknown().optional(),
});

function messageOf(body: unknown): string {
  const parsed = errorBody.safeParse(body);
  if (!parsed.success) return typeof body === "string" ? body : (JSON.stringify(body) ?? "no body");
  const { error, message, error_message, detail } = parsed.data;
  const said = typeof error === "string" ? error : error?.message;
  return said ?? message ?? error_message ?? (detail === undefined ? JSON.stringify(body) : text(detail));
}

const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** The server said no. @param body as JSON, or its text; the openai client hands over the inside of `error` */
export function statusFailure(status: number, body: unknown, where: string): EndpointError {
  const said = messageOf(body);
  const kind = kindOf(status, said, body);
  const got = said.length > 500 ? `${said.slice(0, 500)}…` : said.replace(/\.$/u, "");
  const next = nextMoves[status];
  return new EndpointError(
    kind,
    { what: `the server answered ${status}`, where, got, ...(next && { next }) },
    status,
  );
}

const nextMoves: Readonly<Record<number, string>> = {
  401: "Put the server's key into an environment variable and name that as endpoint.apiKeyEnv.",
  403: "Put a key that may do this into the environment variable that endpoint.apiKeyEnv names.",
  404: "Check the URL and the driver, and that the server was started with what this call needs.",
};

const byStatus: Readonly<Record<number, EndpointFailure>> = {
  408: "timeout",
  429: "overloaded",
  503: "overloaded",
};

function kindOf(status: number, said: string, body: unknown): EndpointFailure {
  if (status === 404 && namesMissingModel(said, body)) return "missingModel";
  return byStatus[status] ?? (status >= 500 ? "server" : "refused");
}

/** vLLM: `param: "model"`; OpenAI: `code: "model_not_found"`; both: "The model `x` does not exist". */
function namesMissingModel(said: string, body: unknown): boolean {
  const whole = errorBody.safeParse(body).data;
  const inner = errorBody.safeParse(whole?.error).data;
  return [whole, inner].some(
    (each) =>
      each?.param === "model" || each?.code === "model_not_found" || /\bmodel\b.*does not exist/is.test(said),
  );
}

/** A reply that is not what was asked for. */
export function malformed(
  where: string,
  what: string,
  facts: { got?: string; expected?: string; next?: string } = {},
): EndpointError {
  return new EndpointError("malformed", { what, where, ...facts });
}

/** @throws EndpointError naming the first field that is not as it must be */
export function parseReply<S extends z.ZodType>(schema: S, value: unknown, where: string): z.infer<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.join(".") ?? "";
  const field = path === "" ? "it" : path;
  throw malformed(where, "the answer is not what was asked for", { got: `${field}: ${issue?.message}` });
}
