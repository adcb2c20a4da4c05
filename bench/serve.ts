/**
 * What a server of the policy gives: sampled tokens a second at 1, 16 and 64 sequences at once, each with its own prompt
 * of random ids, end of text ignored, prompts included in the time. The policy is sampled in this process and through
 * its own API over HTTP; peers answer the same requests over HTTP in the same run, side by side.
 *
 *   FORAGER_MODEL=models/SmolLM2-135M-Instruct npx tsx bench/serve.ts
 *   FORAGER_VLLM_URL=http://127.0.0.1:8000 FORAGER_VLLM_MODEL=base …     and vLLM (--max-num-seqs 64 or more)
 *   FORAGER_LLAMACPP=http://127.0.0.1:8080 …                            and llama-server (-np 64)
 *
 * --streams 1,16,64 · --prompt 300 · --new 128 · --rounds 1 · --threads 0 · --spin (idle threads wait in a loop)
 */
import { setMaxListeners } from "node:events";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { rng, seedOf } from "../core/rng.ts";
import { openEngine } from "../engine/open.ts";
import { loadPolicy } from "../rl/policy/checkpoint.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { createApi } from "../serve/api.ts";
import { listen } from "../serve/listen.ts";
import type { ServedModel } from "../serve/served-model.ts";
import { servedPolicy } from "../serve/served-policy.ts";

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1,16,64" },
    prompt: { type: "string", default: "300" },
    new: { type: "string", default: "128" },
    rounds: { type: "string", default: "1" },
    threads: { type: "string", default: "0" },
    spin: { type: "boolean", default: false },
  },
});
const streams = values.streams.split(",").map(Number);
const [promptTokens, newTokens, rounds] = [values.prompt, values.new, values.rounds].map(Number) as [
  number,
  number,
  number,
];
const folder = process.env.FORAGER_MODEL;
if (!folder) throw new Error("set FORAGER_MODEL to a Hugging Face folder");

interface Request {
  readonly prompt: readonly number[];
  readonly seed: number;
}

/** Samples `newTokens` tokens; resolves to how many came. */
type Side = (request: Request) => Promise<number>;

function direct(model: ServedModel): Side {
  const { signal } = new AbortController();
  setMaxListeners(0, signal); // Every request listens.
  return async ({ prompt, seed }) => {
    const params = { temperature: 1, topP: 1, topK: 0, maxTokens: newTokens, stop: [], seed };
    const rest = { topLogprobs: 0, stopTokenIds: [], ignoreEos: true, minTokens: 0 };
    const done = await model.generate({ model: model.name, prompt, params: { ...params, ...rest } }, signal);
    return done.tokens.length;
  };
}

async function post<T>(url: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${(await answer.text()).slice(0, 300)}`);
  return (await answer.json()) as T;
}

function overApi(url: string, model: string): Side {
  return async ({ prompt, seed }) => {
    const answer = await post<{ usage: { completion_tokens: number } }>(`${url}/v1/completions`, {
      ...{
        model,
        prompt,
        max_tokens: newTokens,
        seed,
        ignore_eos: true,
        return_token_ids: true,
        logprobs: 0,
      },
      ...{ temperature: 1, top_p: 1, top_k: 0, min_p: 0, repetition_penalty: 1 },
    });
    return answer.usage.completion_tokens;
  };
}

function llamaCpp(url: string): Side {
  return async ({ prompt, seed }) => {
    const answer = await post<{ tokens_predicted: number }>(`${url}/completion`, {
      ...{ prompt, n_predict: newTokens, seed, ignore_eos: true, return_tokens: true, n_probs: 1 },
      ...{ temperature: 1, top_p: 1, top_k: 0, min_p: 0, repeat_penalty: 1, cache_prompt: false },
    });
    return answer.tokens_predicted;
  };
}

const engine = await openEngine({ threads: Number(values.threads), spin: values.spin });
const policy = loadPolicy(folder, { training: "full", seed: 0 });
const tokenizer = loadTokenizer(folder);
const contextTokens = promptTokens + newTokens + 8;
// Nothing is kept: no round may find its prompts computed.
const model = servedPolicy({
  ...{ engine, policy, tokenizer, name: "base", contextTokens, keepBytes: 0 },
  maxRows: Math.max(...streams),
});
const server = await listen(createApi({ model }), { port: 0 });
const {
  FORAGER_VLLM_URL: vllm,
  FORAGER_VLLM_MODEL: vllmModel = "base",
  FORAGER_LLAMACPP: llama,
} = process.env;
const sides: [string, Side][] = [
  ["forager, in process", direct(model)],
  ["forager, over HTTP", overApi(server.url, "base")],
  ...(vllm ? [["vLLM", overApi(vllm, vllmModel)] as [string, Side]] : []),
  ...(llama ? [["llama.cpp", llamaCpp(llama)] as [string, Side]] : []),
];
const limit = Math.min(policy.config.vocabSize, tokenizer.vocabSize);
let asked = 0;

/** Tokens a second of `count` sequences at once. */
async function measure(side: Side, count: number): Promise<{ rate: number; cpu: number }> {
  const requests = Array.from({ length: count }, () => {
    const draw = rng(1, "bench", asked);
    return { prompt: Array.from({ length: promptTokens }, () => draw.int(limit)), seed: seedOf(1, asked++) };
  });
  const [start, before] = [performance.now(), process.cpuUsage()];
  const got = await Promise.all(requests.map(side));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  const tokens = got.reduce((a, b) => a + b, 0);
  if (tokens !== count * newTokens) throw new Error(`${tokens} tokens instead of ${count * newTokens}`);
  return { rate: tokens / seconds, cpu: (user + system) / 1e6 };
}

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] as number;
const say = (line: string) => process.stdout.write(`${line}\n`);
const load = () => loadavg()[0]?.toFixed(1);

say(`prompt ${promptTokens}, ${newTokens} new, float32; load ${load()} at the start`);
for (const count of streams) {
  await measure(direct(model), count); // Compiles.
  const results = sides.map(() => [] as { rate: number; cpu: number }[]);
  for (let round = 0; round < rounds; round++)
    for (const [i, [, side]] of sides.entries()) results[i]?.push(await measure(side, count));
  for (const [i, [name]] of sides.entries()) {
    const rates = results[i] as { rate: number; cpu: number }[];
    const cpu = i < 2 ? `  ${median(rates.map((r) => r.cpu)).toFixed(1)} CPU s` : "";
    say(
      `${String(count).padStart(4)} streams ${median(rates.map((r) => r.rate))
        .toFixed(1)
        .padStart(8)} tokens/s  ${name}${cpu}, load ${load()}`,
    );
  }
}
await server.close();
await model.close();
await engine.dispose();
