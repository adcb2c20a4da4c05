import { withoutEnd } from "../ledger.ts";
import type { Generation } from "./driver.ts";
import { EndpointError } from "./error.ts";
import type { Finding, Probe } from "./probe.ts";

const list = (numbers: readonly number[]) => numbers.join(" ");

/** Ids and logprobs come back, the ids are ours, and the logprobs are those that the server gives a given text. */
export async function checkTokens(probe: Probe): Promise<Finding[]> {
  const { driver, tokenizer, connection, model, prompt, signal } = probe;
  let sampled: Generation;
  try {
    sampled = await probe.generate({ temperature: 1, maxTokens: 8, seed: 1 });
  } catch (error) {
    if (!(error instanceof EndpointError) || error.kind !== "malformed") throw error;
    const refused: Finding = { verdict: "fail", evidence: error.message, next: askForTokens };
    const unknown: Finding = { verdict: "warn", evidence: "not seen: the reply was refused" };
    return /logprob/iu.test(error.message) ? [unknown, refused] : [refused, unknown];
  }
  const { tokens, logprobs } = sampled;
  const strange = tokens.find((id) => id >= tokenizer.vocabSize);
  const ids: Finding =
    strange === undefined
      ? { verdict: "ok", evidence: `${tokens.length} ids: ${list(tokens)}` }
      : {
          verdict: "fail",
          evidence: `id ${strange} is outside the tokenizer's ${tokenizer.vocabSize}`,
          next: "Serve the model that model.path names.",
        };
  if (!driver.capabilities.logprobs)
    return [ids, { verdict: "fail", evidence: `${driver.name} gives none that are whole` }];
  const shown = `${list(logprobs.map((each) => Number(each.toFixed(3))))}`;
  if (!driver.capabilities.promptLogprobs || strange !== undefined)
    return [ids, { verdict: "ok", evidence: shown }];
  const scores = await driver.score(connection, model, [...prompt, ...tokens], signal);
  const given = scores.slice(prompt.length - 1);
  const worst = Math.max(...logprobs.map((logprob, i) => Math.abs(logprob - (given[i] as number))));
  const said = `${shown}; scored as a given text, ${worst.toExponential(1)} apart at most`;
  if (worst < 0.2) return [ids, { verdict: "ok", evidence: said }];
  return [
    ids,
    {
      verdict: "fail",
      evidence: said,
      next: "Something shapes the sampling that was not asked for: a default of the server, a penalty, an adapter.",
    },
  ];
}

const askForTokens =
  "Use a server that returns token ids and logprobs (vLLM 0.25 or newer, SGLang's /generate, forager serve).";

/** Flat enough to draw many different tokens, so that few requests show the law. */
const probeTemperature = 2;

/**
 * Are logprobs those of the distribution that was sampled from? At temperature T the logprobs of a position are l/T − c,
 * with l those at temperature 1 and c the same for every token; a server that says raw ones gives l.
 */
export async function checkTemperature(probe: Probe): Promise<Finding> {
  const { driver, connection, model, prompt, signal } = probe;
  if (!driver.capabilities.logprobs || !driver.capabilities.promptLogprobs)
    return { verdict: "warn", evidence: `cannot be seen: ${driver.name} does not score a given text` };
  const said = new Map<number, number>();
  for (let seed = 1; seed <= 16 && said.size < 6; seed++) {
    const { tokens, logprobs } = await probe.generate({ temperature: probeTemperature, maxTokens: 1, seed });
    said.set(tokens[0] as number, logprobs[0] as number);
  }
  const pairs: { atOne: number; said: number }[] = [];
  for (const [token, logprob] of said) {
    const scores = await driver.score(connection, model, [...prompt, token], signal);
    pairs.push({ atOne: scores.at(-1) as number, said: logprob });
  }
  const raw = Math.max(...pairs.map((pair) => Math.abs(pair.said - pair.atOne)));
  const shifted = pairs.map((pair) => pair.said - pair.atOne / probeTemperature);
  const mean = shifted.reduce((a, b) => a + b, 0) / shifted.length;
  const processed = Math.max(...shifted.map((each) => Math.abs(each - mean)));
  const atOne = pairs.map((pair) => pair.atOne);
  const spread = Math.max(...atOne) - Math.min(...atOne);
  const evidence =
    `${pairs.length} tokens at temperature ${probeTemperature}: ${processed.toExponential(1)} nats from ` +
    `logprobs after temperature, ${raw.toExponential(1)} from those before`;
  if (pairs.length < 3 || spread < 0.5)
    return {
      verdict: "warn",
      evidence: `cannot be seen: the prompt has ${pairs.length} likely continuations`,
    };
  if (processed * 4 < raw) return { verdict: "ok", evidence };
  return {
    verdict: "fail",
    evidence,
    next: "Start vLLM with --logprobs-mode processed_logprobs; SGLang without SGLANG_RETURN_ORIGINAL_LOGPROB.",
  };
}

/** Seeds matter at temperature 1, and the same seed repeats. */
export async function checkSampling(probe: Probe): Promise<Finding> {
  const drawn: Generation[] = [];
  for (let seed = 1; seed <= 6; seed++)
    drawn.push(await probe.generate({ temperature: 1, maxTokens: 8, seed }));
  const again = await probe.generate({ temperature: 1, maxTokens: 8, seed: 1 });
  const texts = drawn.map(({ tokens }) => list(tokens));
  const different = new Set(texts).size;
  const repeats = list(again.tokens) === texts[0];
  const evidence = `${different} different of 6 seeds; the same seed ${repeats ? "repeats" : "does not repeat"}`;
  if (different === 1)
    return {
      verdict: "fail",
      evidence,
      next: "Does the server override the temperature (vLLM: --generation-config vllm)?",
    };
  if (repeats) return { verdict: "ok", evidence };
  return {
    verdict: "warn",
    evidence,
    next: "Numerics depend on what is batched together: runs repeat in order and seeds, not in every token.",
  };
}

/** A stop string stops, and its tokens are among the ids. */
export async function checkStop(probe: Probe): Promise<Finding> {
  const { tokenizer } = probe;
  const free = await probe.generate({ temperature: 0, maxTokens: 24, seed: 1 });
  const text = tokenizer.decode(withoutEnd(free.tokens, tokenizer));
  const middle = Math.floor(text.length / 3);
  const stop = text.slice(middle, middle + 4);
  if (stop.trim() === "" || stop.includes("\ufffd"))
    return { verdict: "warn", evidence: `cannot be seen: the model says ${JSON.stringify(text)}` };
  const stopped = await probe.generate({ temperature: 0, maxTokens: 24, seed: 1, stop: [stop] });
  const said = tokenizer.decode(withoutEnd(stopped.tokens, tokenizer));
  const evidence = `stop ${JSON.stringify(stop)} → ${stopped.finish}, ids spell ${JSON.stringify(said)}`;
  if (stopped.finish === "stop" && said.includes(stop)) return { verdict: "ok", evidence };
  return {
    verdict: "fail",
    evidence,
    next: "The ids must hold the stop string whole. Is the server's tokenizer that of model.path?",
  };
}

/** What happens when prompt and max_tokens together are more than the context. */
export async function checkClipping(probe: Probe): Promise<Finding> {
  const { card, prompt, clipLimit = 8_192 } = probe;
  const context = card?.contextTokens;
  if (context === undefined || context > clipLimit)
    return { verdict: "ok", evidence: `not tried: the context is ${context ?? "of unknown length"}` };
  const room = 4;
  const long = Array.from({ length: context - room }, (_, i) => prompt[i % prompt.length] as number);
  try {
    const { tokens, finish } = await probe.generate({
      temperature: 1,
      maxTokens: 4 * room,
      seed: 1,
      prompt: long,
    });
    const evidence = `room for ${room}, asked for ${4 * room}: ${tokens.length} tokens, ${finish}`;
    if (tokens.length <= room) return { verdict: "ok", evidence };
    return {
      verdict: "warn",
      evidence,
      next: "The server gives more than its context holds: does it forget the beginning?",
    };
  } catch (error) {
    if (!(error instanceof EndpointError) || error.kind !== "refused") throw error;
    return { verdict: "ok", evidence: `refused: ${error.message}` };
  }
}
