import { dirname } from "node:path";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { makeFolder } from "../core/files.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { PassThrough } from "../serve/proxy/pass-through.ts";
import { defineCommand } from "./command.ts";
import { appendTo, record } from "./record-rollouts.ts";

export const command = defineCommand({
  positionals: "",
  examples: [
    [
      "forager proxy --upstream http://127.0.0.1:8000 --out rollouts.jsonl",
      "record what an agent says to a vLLM server",
    ],
    [
      "forager proxy --upstream http://127.0.0.1:8000 --out rollouts.jsonl --port 9000",
      "at a fixed port; then train on it: sft.source: { kind: trajectories, path: rollouts.jsonl }",
    ],
  ],
  builder: (yargs) =>
    yargs
      .option("upstream", {
        type: "string",
        demandOption: true,
        describe: "Root URL of a vLLM-compatible server, without /v1",
      })
      .option("out", {
        type: "string",
        default: "rollouts.jsonl",
        describe: "File that each rollout is appended to when it is over",
      })
      .option("host", { type: "string", default: "127.0.0.1", describe: "Address to listen on" })
      .option("port", {
        type: "number",
        default: 8900,
        describe: "Port to listen on, 0 for any that is free",
      })
      .option("model", { type: "string", describe: "Model to ask for, whatever the agent names" })
      .option("tokenizer", {
        type: "string",
        describe: "Model folder whose tokenizer writes the text of ids; the server is asked without one",
      })
      .option("apiKeyEnv", {
        type: "string",
        describe: "Environment variable that holds the server's API key",
      }),
  async run({ upstream, out, host, port, model, tokenizer: folder, apiKeyEnv }, output, signal) {
    const tokenizer = folder === undefined ? undefined : loadTokenizer(folder);
    const reasons = new Set<string>();
    const apiKey = apiKeyEnv === undefined ? undefined : keyOf(apiKeyEnv);
    const backend = new PassThrough({
      upstream: rootOf(upstream),
      ...(model !== undefined && { model }),
      ...(apiKey !== undefined && { apiKey }),
      ...(tokenizer && { decode: (ids: readonly number[]) => tokenizer.decode(ids) }),
      onUnrecorded: (reason) => {
        if (!reasons.has(reason)) output.warn(`an answer of ${upstream} cannot be recorded: ${reason}`);
        reasons.add(reason);
      },
    });
    try {
      const models = await namesOf(backend, upstream, signal);
      makeFolder(dirname(out));
      appendTo(out, "");
      await record({ out, host, port, backend, models }, output, signal);
    } finally {
      backend.close();
    }
  },
});

function keyOf(name: string): string {
  const key = process.env[name];
  if (key) return key;
  throw new ConfigError({
    what: `the environment variable ${name} is not set`,
    where: "--api-key-env",
    next: `Set it: export ${name}=…`,
  });
}

/** The root of a server's URL; a /v1 at its end is what people copy. */
function rootOf(url: string): string {
  if (/^https?:\/\/[^/\s]+/u.test(url)) return url.replace(/\/+$/u, "").replace(/\/v1$/u, "");
  throw new ConfigError({
    what: "no URL of a server",
    where: "--upstream",
    got: url,
    expected: "such as http://127.0.0.1:8000",
  });
}

const modelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

async function namesOf(backend: PassThrough, url: string, signal: AbortSignal): Promise<string[]> {
  try {
    return modelList.parse(await backend.models(signal)).data.map(({ id }) => id);
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConfigError({
      what: "no vLLM-compatible server answers there",
      where: `--upstream ${url}`,
      got: (cause as Error).message.slice(0, 300),
      expected: "a list of models at /v1/models",
      next: "Start the server first; with an API key, name its variable with --api-key-env.",
      cause,
    });
  }
}
