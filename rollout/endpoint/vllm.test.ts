import { afterEach, expect, test } from "vitest";
import type { Connection } from "./connection.ts";
import { openConnection } from "./open-connection.ts";
import { toyComplete } from "./toy-language.ts";
import { type Fault, type ToyOptions, type ToyServer, toyServer } from "./toy-server.ts";
import { vllm } from "./vllm.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(o: ToyOptions): Promise<{ at: Connection; toy: ToyServer }> {
  const toy = await toyServer(o);
  const at = openConnection({ url: toy.url });
  closing.push(toy.close, at.close);
  return { at, toy };
}

const { signal } = new AbortController();
const prompt = [97, 98, 99];
const ask = (o: { temperature?: number; stop?: string[]; seed?: number } = {}) => {
  const { temperature = 1, stop = [], seed = 5 } = o;
  return { model: "base", prompt, params: { temperature, topP: 1, topK: 0, maxTokens: 12, stop, seed } };
};
const truth = () => {
  const { params, ...rest } = ask();
  return toyComplete({ ...rest, ...params });
};

test("every field that shapes vLLM's sampling is said", async () => {
  const { at, toy } = await open({});
  await vllm.generate(at, ask({ stop: ["</search>"], temperature: 0.7, seed: 4_294_967_295 }), signal);
  expect(toy.requests[0]).toEqual({
    ...{ model: "base", prompt, max_tokens: 12, min_tokens: 0, n: 1, seed: 4_294_967_295, temperature: 0.7 },
    ...{ top_p: 1, top_k: 0, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
    ...{ ignore_eos: false, stop: ["</search>"], stop_token_ids: [], include_stop_str_in_output: true },
    ...{ skip_special_tokens: false, spaces_between_special_tokens: false, add_special_tokens: false },
    ...{ logprobs: 0, prompt_logprobs: null, return_token_ids: true, return_tokens_as_token_ids: false },
    stream: false,
  });
});

interface VllmReply {
  model: string;
  choices: {
    token_ids?: number[];
    logprobs: { token_logprobs: (number | null)[] } | null;
    finish_reason: string;
    stop_reason: unknown;
    prompt_token_ids: number[] | null;
  }[];
}
/** The same answer with something changed in its only choice. */
const choice = (change: (choice: VllmReply["choices"][0], reply: VllmReply) => void): Fault => {
  return (body) => {
    const reply = body as unknown as VllmReply;
    change(reply.choices[0] as VllmReply["choices"][0], reply);
    return reply;
  };
};
const logprobsOf = (each: VllmReply["choices"][0]) => each.logprobs?.token_logprobs as (number | null)[];

const broken: [string, Fault, RegExp][] = [
  ["fewer tokens than logprobs", choice((c) => c.token_ids?.pop()), /unequal length/u],
  ["fewer logprobs than tokens", choice((c) => logprobsOf(c).pop()), /unequal length/u],
  ["a null logprob", choice((c) => (logprobsOf(c)[1] = null)), /logprobs/u],
  ["a logprob of −9999", choice((c) => (logprobsOf(c)[1] = -9999)), /without a logprob/u],
  ["a positive logprob", choice((c) => (logprobsOf(c)[1] = 0.5)), /without a logprob/u],
  ["no logprobs", choice((c) => (c.logprobs = null)), /logprobs/u],
  ["no ids", choice((c) => delete c.token_ids), /token_ids/u],
  ["an id that is none", choice((c) => ((c.token_ids as number[])[0] = -1)), /token_ids/u],
  [
    "no tokens",
    choice((c) => {
      c.token_ids = [];
      c.logprobs = { token_logprobs: [] };
    }),
    /no tokens/u,
  ],
  [
    "too many tokens",
    choice((c) => {
      c.token_ids?.push(...Array(9).fill(97));
      logprobsOf(c).push(...Array(9).fill(-1));
    }),
    /more tokens/u,
  ],
  ["another model's answer", choice((_, reply) => (reply.model = "run-v0")), /another model.*base.*run-v0/su],
  ["another prompt's answer", choice((c) => (c.prompt_token_ids = [1, 2, 3])), /another prompt/u],
  ["two choices", choice((c, reply) => reply.choices.push(c)), /choices/u],
  ["no choices", choice((_, reply) => reply.choices.pop()), /choices/u],
];

test.each(broken)("%s is malformed", async (_, fault, said) => {
  const { at } = await open({ fault: () => fault });
  const failure = vllm.generate(at, ask(), signal);
  await expect(failure).rejects.toMatchObject({ kind: "malformed", retryable: true });
  await expect(failure).rejects.toThrow(said);
});

test("prompt ids that an older server leaves out are no failure", async () => {
  const { at } = await open({ fault: () => choice((c) => (c.prompt_token_ids = null)) });
  expect((await vllm.generate(at, ask(), signal)).tokens).toEqual(truth().tokens);
});

test("a stop token's id is the end of text", async () => {
  const { at } = await open({
    fault: () =>
      choice((c) => {
        c.finish_reason = "stop";
        c.stop_reason = 7;
      }),
  });
  expect((await vllm.generate(at, ask(), signal)).finish).toBe("eos");
});

test.each(["abort", "error", "repetition"])("%s is the server's failure", async (reason) => {
  const { at } = await open({ fault: () => choice((c) => (c.finish_reason = reason)) });
  await expect(vllm.generate(at, ask(), signal)).rejects.toMatchObject({ kind: "server" });
});

const page = `# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a}b"} 3.0
vllm:num_requests_running{engine="1",model_name="a"} 2.0
vllm:num_requests_waiting{engine="0"} 4.0
vllm:num_requests_waiting_by_reason{reason="deferred"} 9.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 7.5e-01
vllm:num_preemptions_total{engine="0"} 1.0 1790000000000
vllm:num_preemptions_created{engine="0"} 1.79e+09
`;

test("vLLM's page of metrics: engines add up, the fullest cache counts, longer names are other metrics", async () => {
  const { at } = await open({ metrics: page });
  expect(await vllm.load(at, signal)).toEqual({
    running: 5,
    waiting: 4,
    kvCacheUsage: 0.75,
    preemptions: 1,
  });
});
