import { z } from "zod";
import { logprobRounding } from "../ledger.ts";
import type { Connection } from "./connection.ts";
import type { Generation, ModelCard, ServerLoad } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { malformed, parseReply } from "./failure.ts";
import { metric, sum } from "./prometheus.ts";

export const tokenId = z.int().min(0);

/** vLLM writes −9999 where it has no logprob; no real one comes near. */
const noLogprob = -9999;

/**
 * What every make's generation must be: one finite logprob ≤ 0 for each token, at least one token and no more than
 * were asked for. @throws EndpointError
 */
export function checked(
  { tokens, logprobs, ...rest }: Generation,
  maxTokens: number,
  where: string,
): Generation {
  if (tokens.length !== logprobs.length)
    throw malformed(where, "tokens and logprobs of unequal length", {
      got: `${tokens.length} tokens, ${logprobs.length} logprobs`,
    });
  if (tokens.length === 0 || tokens.length > maxTokens)
    throw malformed(where, tokens.length === 0 ? "no tokens" : "more tokens than asked for", {
      got: `${tokens.length}`,
      expected: `1 to ${maxTokens}`,
    });
  const wrong = logprobs.find((logprob) => !isLogprob(logprob));
  if (wrong !== undefined)
    throw malformed(where, "a token without a logprob", { got: String(wrong), expected: "finite and ≤ 0" });
  return { tokens, logprobs, ...rest };
}

export const isLogprob = (value: number): boolean => value <= logprobRounding && value > noLogprob;

/** A sequence's logprobs as a server scored them. @throws EndpointError */
export function checkedScores(scores: readonly number[], tokens: number, where: string): number[] {
  if (scores.length !== tokens - 1)
    throw malformed(where, "the server scored another number of tokens", {
      got: `${scores.length}`,
      expected: `${tokens - 1}`,
    });
  const wrong = scores.find((logprob) => !isLogprob(logprob));
  if (wrong !== undefined)
    throw malformed(where, "a scored token without a logprob", {
      got: String(wrong),
      expected: "finite and ≤ 0",
    });
  return [...scores];
}

/** The server ended the request without the model having ended its text. */
export function gaveUp(where: string, reason: string, said?: string | undefined): EndpointError {
  return new EndpointError("server", {
    what: "the server gave the request up",
    where,
    got: said === undefined ? reason : `${reason}: ${said}`,
  });
}

const modelList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: z.string().nullish(),
      parent: z.string().nullish(),
      root: z.string().nullish(),
      max_model_len: z.number().nullish(),
    }),
  ),
});

/** GET /v1/models, which all makes have. */
export async function readModels(at: Connection, signal: AbortSignal) {
  const reply = await at.call("GET", "/v1/models", { signal });
  return parseReply(modelList, reply, `GET ${at.url}/v1/models`).data;
}

export async function modelCards(at: Connection, signal: AbortSignal): Promise<ModelCard[]> {
  const cards = await readModels(at, signal);
  return cards.map(({ id, parent, root, max_model_len }) =>
    parent != null
      ? { id, parent, ...(root != null && { root }) }
      : { id, ...(max_model_len != null && { contextTokens: max_model_len }) },
  );
}

/** Names of the metrics that ServerLoad is made of. */
export interface LoadMetrics {
  readonly running: string;
  readonly waiting: string;
  readonly kvCacheUsage: string;
  readonly preemptions: string;
}

/** GET /metrics; undefined where the server has no such page or does not say how many requests run. */
export async function readLoad(
  at: Connection,
  names: LoadMetrics,
  signal: AbortSignal,
): Promise<ServerLoad | undefined> {
  let page: unknown;
  try {
    page = await at.call("GET", "/metrics", { signal });
  } catch (error) {
    // Switched off, or behind a key: 404, 501, 401, 403.
    const switchedOff = error instanceof EndpointError && (error.kind === "refused" || error.status === 501);
    if (switchedOff) return undefined;
    throw error;
  }
  if (typeof page !== "string") return undefined;
  const running = metric(page, names.running);
  if (running.length === 0) return undefined;
  return {
    running: sum(running),
    waiting: sum(metric(page, names.waiting)),
    // The fullest of several engines is where a request would wait.
    kvCacheUsage: Math.max(0, ...metric(page, names.kvCacheUsage)),
    preemptions: sum(metric(page, names.preemptions)),
  };
}
