import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { rng } from "../core/rng.ts";
import { ApiError } from "./api-error.ts";

/** What a request of a stub may be for. */
export type RequestKind = "generate" | "load" | "other";

/** Node's side of a request, as @hono/node-server hands it on. */
export interface NodeSide {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

interface Strike {
  readonly request: Request;
  readonly node: NodeSide;
  /** Answers as if nothing were wrong. */
  readonly answer: () => Promise<Response>;
  /** Forgets the adapters and breaks every connection. */
  readonly restart: () => void;
  readonly delayMs: number;
}

interface Fault {
  readonly on: RequestKind;
  /** For --help. */
  readonly does: string;
  readonly strike: (strike: Strike) => Promise<Response>;
}

const failing =
  (status: 404 | 429 | 500 | 503, type: string, message: string): Fault["strike"] =>
  async () =>
    Response.json(new ApiError(status, type, message).body, { status });

/** What can go wrong with a server. Replies that stream are only failed, hung or broken off, never malformed. */
export const faults = {
  status500: {
    on: "generate",
    does: "500 Internal Server Error",
    strike: failing(500, "InternalServerError", "Internal server error"),
  },
  status503: {
    on: "generate",
    does: "503 Service Unavailable",
    strike: failing(503, "ServiceUnavailableError", "The server is overloaded"),
  },
  status429: {
    on: "generate",
    does: "429 Too Many Requests",
    strike: failing(429, "RateLimitError", "Too many requests"),
  },
  hang: { on: "generate", does: "never answers", strike: hang },
  slow: { on: "generate", does: "answers late, after the fault's delay", strike: slow },
  badJson: { on: "generate", does: "a body that is cut, and no JSON", strike: changed(half) },
  noTokenIds: { on: "generate", does: "no token_ids in its reply", strike: choices(without("token_ids")) },
  fewTokenIds: {
    on: "generate",
    does: "fewer token_ids than logprobs",
    strike: choices((choice) => ({ ...choice, token_ids: choice.token_ids?.slice(0, -1) })),
  },
  nullLogprob: { on: "generate", does: "a logprob that is null", strike: choices(firstLogprob(null)) },
  clampedLogprob: { on: "generate", does: "a logprob of -9999", strike: choices(firstLogprob(-9999)) },
  wrongModel: {
    on: "generate",
    does: "a reply that says another model made it",
    strike: changed((text) => JSON.stringify({ ...JSON.parse(text), model: "another-model" })),
  },
  dropBeforeHead: { on: "generate", does: "resets the connection before it answers", strike: dropBeforeHead },
  dropHalfBody: { on: "generate", does: "resets the connection after half a body", strike: dropHalfBody },
  loadSlow: { on: "load", does: "loads an adapter late, after the fault's delay", strike: slow },
  load500: {
    on: "load",
    does: "500 when an adapter is to be loaded",
    strike: failing(500, "InternalServerError", "LoRA rank 64 is greater than max_lora_rank 16."),
  },
  load404: {
    on: "load",
    does: "404, no adapter found",
    strike: failing(404, "NotFoundError", "Loading lora failed: No adapter found for <path>"),
  },
  restart: {
    on: "generate",
    does: "restarts: forgets its adapters and breaks every connection",
    async strike({ restart }) {
      restart();
      return RESPONSE_ALREADY_SENT;
    },
  },
} as const satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as readonly FaultName[];

/** When a fault strikes: with a probability, or at the requests of its kind with these numbers, from 1. */
export interface FaultRule {
  readonly fault: FaultName;
  readonly probability?: number;
  readonly at?: readonly number[];
  /** Of slow and loadSlow; default 1,000. */
  readonly delayMs?: number;
}

/** The rule that strikes the n-th request of a kind (from 1), the same for the same seed. */
export function faultAt(
  rules: readonly FaultRule[],
  kind: RequestKind,
  n: number,
  seed: number,
): FaultRule | undefined {
  return rules.find(
    ({ fault, probability = 0, at }, i) =>
      faults[fault].on === kind && (at?.includes(n) || rng(seed, "fault", i, n)() < probability),
  );
}

async function hang({ request }: Strike): Promise<Response> {
  const { signal } = request;
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  return RESPONSE_ALREADY_SENT;
}

async function slow({ request, answer, delayMs }: Strike): Promise<Response> {
  try {
    await sleep(delayMs, undefined, { signal: request.signal });
  } catch {
    return RESPONSE_ALREADY_SENT; // the client has gone
  }
  return answer();
}

async function dropBeforeHead({ node }: Strike): Promise<Response> {
  node.incoming.socket.resetAndDestroy();
  return RESPONSE_ALREADY_SENT;
}

/** The head promises the whole body. */
async function dropHalfBody({ node, answer }: Strike): Promise<Response> {
  const response = await answer();
  const text = await response.text();
  node.outgoing.writeHead(response.status, {
    "content-type": response.headers.get("content-type") ?? "application/json",
    "content-length": Buffer.byteLength(text),
  });
  node.outgoing.write(half(text), () => node.incoming.socket.resetAndDestroy());
  return RESPONSE_ALREADY_SENT;
}

function half(text: string): string {
  return text.slice(0, text.length / 2);
}

function changed(change: (text: string) => string): Fault["strike"] {
  return async ({ answer }) => {
    const response = await answer();
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || !type.startsWith("application/json")) return response;
    return new Response(change(await response.text()), { headers: { "content-type": type } });
  };
}

interface ReplyChoice {
  readonly token_ids?: readonly number[];
  readonly logprobs?: {
    readonly token_logprobs?: readonly (number | null)[];
    readonly content?: readonly object[];
  } | null;
}

function choices(change: (choice: ReplyChoice) => object): Fault["strike"] {
  return changed((text) => {
    const reply = JSON.parse(text) as { choices: ReplyChoice[] };
    return JSON.stringify({ ...reply, choices: reply.choices.map(change) });
  });
}

function without(key: keyof ReplyChoice) {
  return ({ [key]: _, ...rest }: ReplyChoice) => rest;
}

/** Of a completion or of a chat message. */
function firstLogprob(value: number | null) {
  return (choice: ReplyChoice) => {
    const { token_logprobs, content } = choice.logprobs ?? {};
    const logprobs = {
      ...choice.logprobs,
      ...(token_logprobs ? { token_logprobs: token_logprobs.with(0, value) } : {}),
      ...(content ? { content: content.with(0, { ...content[0], logprob: value }) } : {}),
    };
    return { ...choice, logprobs: choice.logprobs ? logprobs : null };
  };
}
