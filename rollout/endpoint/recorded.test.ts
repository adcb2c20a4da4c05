import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Connection } from "./connection.ts";
import { openConnection } from "./open-connection.ts";
import { toyServer } from "./toy-server.ts";
import { vllm } from "./vllm.ts";

/**
 * Answers of a real vLLM, one file a case: `{ request: { path, body }, status, response }`. Not part of the repository:
 * name their folder to run these.
 */
const folder = process.env.FORAGER_VLLM_ANSWERS;

const recording = z.object({
  request: z.object({ path: z.string(), body: z.looseObject({}).nullable() }),
  status: z.int(),
  response: z.unknown(),
});

const completion = z.looseObject({
  model: z.string(),
  prompt: z.array(z.int()),
  max_tokens: z.int().default(16),
  stop: z.array(z.string()).default([]),
  prompt_logprobs: z.int().optional(),
});

const { signal } = new AbortController();

function read(name: string) {
  return recording.parse(JSON.parse(readFileSync(join(folder as string, name), "utf8")));
}

async function answered<T>(name: string, work: (at: Connection) => Promise<T>): Promise<T> {
  const { status, response } = read(name);
  const toy = await toyServer({ fault: () => ({ status, body: response }) });
  const at = openConnection({ url: toy.url });
  try {
    return await work(at);
  } finally {
    at.close();
    await toy.close();
  }
}

function generate(name: string) {
  const { model, prompt, max_tokens, stop } = completion.parse(read(name).request.body);
  const params = { temperature: 1, topP: 1, topK: 0, maxTokens: max_tokens, stop, seed: 7 };
  return answered(name, (at) => vllm.generate(at, { model, prompt, params }, signal));
}

const expected: Record<string, object> = {
  "completion_base_greedy.json": { finish: "eos", model: "base" },
  "completion_v1_greedy.json": { finish: "eos", model: "run-v1" },
  "eos_stop.json": { finish: "eos" },
  "ignore_eos.json": { finish: "length" },
  "prompt_plus_max_tokens_too_long.json": { finish: "length" },
  "sample_lp1.json": { finish: "length" },
  "stop_string.json": { finish: "stop" },
  "stop_string_included.json": { finish: "stop" },
  "stop_token_ids.json": { finish: "eos" },
  "unknown_field.json": { finish: "length" },
};

const refused: Record<string, object> = {
  "completion_after_unload_404.json": { kind: "missingModel", status: 404 },
  "completion_unknown_model_404.json": { kind: "missingModel", status: 404 },
  "prompt_exactly_max_len.json": { kind: "refused", status: 400 },
  "prompt_too_long.json": { kind: "refused", status: 400 },
  "prompt_token_out_of_vocab.json": { kind: "refused", status: 400 },
  "sample_no_logprobs.json": { kind: "malformed" },
  "sample_n4_lp0.json": { kind: "malformed" },
};

const opt = test.skipIf(folder === undefined);

opt.each(Object.entries(expected))("real answer %s (set FORAGER_VLLM_ANSWERS)", async (name, facts) => {
  const generation = await generate(name);
  expect(generation).toMatchObject(facts);
  expect(generation.tokens.length).toBe(generation.logprobs.length);
});

opt.each(Object.entries(refused))(
  "real answer %s is a failure (set FORAGER_VLLM_ANSWERS)",
  async (name, facts) => {
    await expect(generate(name)).rejects.toMatchObject(facts);
  },
);

opt("real prompt logprobs are scores (set FORAGER_VLLM_ANSWERS)", async () => {
  for (const name of ["prompt_logprobs_0.json", "prompt_logprobs_1.json"]) {
    const { model, prompt } = completion.parse(read(name).request.body);
    const scores = await answered(name, (at) => vllm.score(at, model, prompt, signal));
    expect(scores.length).toBe(prompt.length - 1);
    expect(scores[0]).toBeCloseTo(-13.97868537902832, 6);
  }
});

opt("every recorded failure has a kind (set FORAGER_VLLM_ANSWERS)", async () => {
  const names = readdirSync(folder as string).filter((name) => name.endsWith(".json"));
  const failures = names.filter((name) => read(name).status >= 400);
  expect(failures.length).toBeGreaterThan(10);
  for (const name of failures)
    await expect(
      answered(name, (at) =>
        at.call("POST", "/v1/completions", { body: { model: "base", prompt: [1], max_tokens: 1 }, signal }),
      ),
    ).rejects.toMatchObject({
      name: "EndpointError",
      kind: expect.stringMatching(/^(refused|missingModel)$/u),
    });
});
