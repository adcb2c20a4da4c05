import { ConfigError } from "../../core/errors.ts";
import type { Tokenizer } from "../tokenizer.ts";
import type { Connection } from "./connection.ts";
import type { Driver, Generation, ModelCard } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { checkClipping, checkSampling, checkStop, checkTemperature, checkTokens } from "./probe-checks.ts";

export type FactName =
  | "reachable"
  | "model"
  | "context"
  | "tokenIds"
  | "logprobs"
  | "temperature"
  | "sampling"
  | "stop"
  | "clipping";

/** What a check found. `fail`: what was asked for cannot be had. */
export interface Finding {
  readonly verdict: "ok" | "warn" | "fail";
  readonly evidence: string;
  /** The next move, an imperative sentence. */
  readonly next?: string;
}

export interface ProbeFact extends Finding {
  readonly name: FactName;
}

export interface ProbeOptions {
  readonly connection: Connection;
  readonly driver: Driver;
  readonly tokenizer: Tokenizer;
  /** What the run wants. */
  readonly contextTokens: number;
  /** Name of the base model, or of an adapter; default: the only base model that the server lists. */
  readonly model?: string | undefined;
  /** A prompt that can be continued in many ways, [T]. */
  readonly prompt: readonly number[];
  /** The clipping check costs a prompt as long as the context: above this many tokens it is left out. Default 8,192. */
  readonly clipLimit?: number;
  readonly signal: AbortSignal;
}

/** What the checks share. */
export interface Probe extends ProbeOptions {
  readonly model: string;
  readonly card: ModelCard | undefined;
  generate(o: {
    temperature: number;
    maxTokens: number;
    seed: number;
    stop?: readonly string[];
    prompt?: readonly number[];
  }): Promise<Generation>;
}

/** Checks of a server that answers, in this order; what a check learns of another fact, it says too. */
const checks: readonly { readonly names: readonly FactName[]; run(probe: Probe): Promise<Finding[]> }[] = [
  { names: ["tokenIds", "logprobs"], run: checkTokens },
  { names: ["temperature"], run: async (probe) => [await checkTemperature(probe)] },
  { names: ["sampling"], run: async (probe) => [await checkSampling(probe)] },
  { names: ["stop"], run: async (probe) => [await checkStop(probe)] },
  { names: ["clipping"], run: async (probe) => [await checkClipping(probe)] },
];

/**
 * Asks a server what it does, some dozens of tokens long, and believes nothing else. A server that gives no ids is not
 * asked further.
 */
export async function probeServer(options: ProbeOptions): Promise<readonly ProbeFact[]> {
  const { connection, driver, signal } = options;
  let cards: readonly ModelCard[];
  try {
    cards = await driver.models(connection, signal);
  } catch (error) {
    return [{ name: "reachable", ...failed(error) }];
  }
  const facts: ProbeFact[] = [
    { name: "reachable", verdict: "ok", evidence: `${connection.url} answers as ${driver.name}` },
  ];
  const bases = cards.filter(({ parent }) => parent === undefined).map(({ id }) => id);
  const model = options.model ?? (bases.length === 1 ? bases[0] : undefined);
  const card = cards.find(({ id }) => id === model);
  facts.push({ name: "model", ...modelFinding(options.model, model, card, cards) });
  if (model === undefined || card === undefined) return facts;
  facts.push({ name: "context", ...contextFinding(options.contextTokens, card, cards) });

  const probe = probeOf(options, model, card);
  for (const { names, run } of checks) {
    const found = await run(probe).catch((error) => names.map(() => failed(error)));
    found.forEach((finding, i) => {
      facts.push({ name: names[i] as FactName, ...finding });
    });
    if (facts.some(({ name, verdict }) => name === "tokenIds" && verdict === "fail")) break;
  }
  return facts;
}

function probeOf(options: ProbeOptions, model: string, card: ModelCard): Probe {
  const { driver, connection, signal, prompt: usual } = options;
  return {
    ...options,
    model,
    card,
    generate: ({ temperature, maxTokens, seed, stop = [], prompt = usual }) =>
      driver.generate(
        connection,
        { model, prompt, params: { temperature, topP: 1, topK: 0, maxTokens, stop, seed } },
        signal,
      ),
  };
}

/** A check that its server did not let finish. Anything else that is thrown is a bug, or the caller's abort. */
function failed(error: unknown): Finding {
  if (!(error instanceof EndpointError)) throw error;
  const { next } = error.complaint;
  return { verdict: "fail", evidence: error.message, ...(next !== undefined && { next }) };
}

function modelFinding(
  asked: string | undefined,
  model: string | undefined,
  card: ModelCard | undefined,
  cards: readonly ModelCard[],
): Finding {
  const listed = cards.map(({ id }) => id).join(", ") || "none";
  if (card !== undefined) return { verdict: "ok", evidence: card.id };
  if (model === undefined)
    return {
      verdict: "fail",
      evidence: `the server lists ${listed}`,
      next: "Set endpoint.model to one of them.",
    };
  return {
    verdict: "fail",
    evidence: `no model ${asked}; the server lists ${listed}`,
    next: "Set endpoint.model to the name that the server uses (vLLM: --served-model-name).",
  };
}

function contextFinding(wanted: number, card: ModelCard, cards: readonly ModelCard[]): Finding {
  const given = card.contextTokens ?? cards.find(({ id }) => id === card.parent)?.contextTokens;
  if (given === undefined)
    return { verdict: "warn", evidence: `the server does not say; ${wanted} tokens are wanted` };
  if (given >= wanted) return { verdict: "ok", evidence: `${given} tokens, ${wanted} are wanted` };
  return {
    verdict: "fail",
    evidence: `${given} tokens, ${wanted} are wanted`,
    next: `Set model.contextTokens to ${given} or less, or start the server with more (vLLM: --max-model-len).`,
  };
}

const forSampling: readonly FactName[] = ["reachable", "model", "context", "tokenIds", "stop"];
const forTraining: readonly FactName[] = [...forSampling, "logprobs", "temperature", "sampling"];

/** May the server's tokens be evaluated? @throws ConfigError with every reason against */
export function requireSampling(facts: readonly ProbeFact[], url: string): void {
  refuse(facts, forSampling, url, "this server cannot sample for an evaluation", "Evaluate it with --chat.");
}

/** May the server's tokens be trained on? @throws ConfigError with every reason against */
export function requireTrainable(facts: readonly ProbeFact[], url: string): void {
  refuse(
    facts,
    forTraining,
    url,
    "this server cannot sample for training",
    "It can be evaluated, and its texts can be trained on by sft.",
  );
}

function refuse(
  facts: readonly ProbeFact[],
  needed: readonly FactName[],
  url: string,
  what: string,
  otherwise: string,
): void {
  const against = facts.filter(({ name, verdict }) => needed.includes(name) && verdict === "fail");
  if (against.length === 0) return;
  const moves = against.flatMap(({ next }) => (next === undefined ? [] : [next]));
  throw new ConfigError({
    what,
    where: url,
    got: against.map(({ name, evidence }) => `${name}: ${evidence}`).join("; "),
    next: [...new Set(moves), otherwise].join(" "),
  });
}
