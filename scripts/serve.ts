import { ConfigError } from "../core/errors.ts";
import { type BackendName, backends } from "../engine/config.ts";
import { openEngine } from "../engine/open.ts";
import { createApi } from "../serve/api.ts";
import { listen } from "../serve/listen.ts";
import { servedPolicy } from "../serve/served-policy.ts";
import { defineCommand } from "./command.ts";
import { modelKinds, openModel } from "./open-model.ts";
import { apiKeyOf, checkPort, serveUntil, warnOpen, withServer } from "./server-options.ts";

export const command = defineCommand({
  positionals: "<model>",
  examples: [
    ["forager serve runs/quickstart", "the run's last policy, at http://127.0.0.1:8000/v1"],
    [
      "forager serve models/smollm2 --adapter run-v3=runs/a/adapters/v3 --port 8001",
      "a model and an adapter",
    ],
  ],
  builder: (yargs) =>
    withServer(yargs)
      .positional("model", { type: "string", demandOption: true, describe: modelKinds })
      .option("step", { type: "number", describe: "of a run: the checkpoint after this many RL steps" })
      .option("name", { type: "string", describe: "what clients call it; default: the folder's name" })
      .option("adapter", {
        type: "string",
        array: true,
        describe: "NAME=FOLDER of a PEFT adapter to load at the start; may be repeated",
      })
      .option("fixedAdapters", {
        type: "boolean",
        default: false,
        describe: "clients may not load or unload adapters",
      })
      .option("maxRows", { type: "number", describe: "requests computed at once; default 128" })
      .option("maxAdapters", { type: "number", describe: "adapters loaded at once; default 32" })
      .option("adapterRank", { type: "number", describe: "highest LoRA rank of an adapter; default 64" })
      .option("context", { type: "number", describe: "tokens of a sequence; default: the model's" })
      .option("backend", {
        choices: Object.keys(backends) as BackendName[],
        default: "cpu" as const,
        describe: "where tensors are computed",
      })
      .option("threads", { type: "number", default: 0, describe: "of the processor; 0 is every core" })
      .option("seed", { type: "number", default: 0, describe: "draws what requests without a seed get" }),
  endsByInterrupt: true,
  async run(args, output, signal) {
    const apiKey = apiKeyOf(args.apiKeyEnv);
    checkPort(args.port);
    checkCounts({ "--max-rows": args.maxRows, "--max-adapters": args.maxAdapters });
    checkCounts({ "--adapter-rank": args.adapterRank, "--context": args.context });
    const adapters = (args.adapter ?? []).map(namedFolder);
    const opened = openModel(args.model, args.step);
    const name = args.name ?? opened.name;
    const engine = await openEngine({ backend: args.backend, threads: args.threads });
    try {
      const model = servedPolicy({
        ...{ engine, policy: opened.policy, tokenizer: opened.tokenizer, name, root: opened.folder },
        ...{ chatTemplate: opened.chatTemplate, contextTokens: args.context },
        ...{ maxRows: args.maxRows, maxAdapters: args.maxAdapters, maxLoraRank: args.adapterRank },
      });
      try {
        for (const each of [...opened.adapters, ...adapters]) await model.loadAdapter(each.name, each.folder);
        warnOpen(args.host, apiKey, output);
        const allowAdapters = !args.fixedAdapters;
        const api = createApi({ model, apiKey, allowAdapters, seed: args.seed });
        const server = await listen(api, { host: args.host, port: args.port });
        await serveUntil(signal, server, { model: name, apiKey, output });
        await server.close();
        const { requests, promptTokens, generationTokens } = model.load();
        output.result({ url: server.url, model: name, requests, promptTokens, generationTokens });
      } finally {
        await model.close();
      }
    } finally {
      await engine.dispose();
    }
  },
});

function checkCounts(counts: Readonly<Record<string, number | undefined>>): void {
  for (const [where, count] of Object.entries(counts))
    if (count !== undefined && !(Number.isInteger(count) && count > 0))
      throw new ConfigError({ what: "no usable number", where, got: String(count), expected: "1 or more" });
}

function namedFolder(text: string): { name: string; folder: string } {
  const at = text.indexOf("=");
  if (at > 0 && at < text.length - 1) return { name: text.slice(0, at), folder: text.slice(at + 1) };
  throw new ConfigError({
    what: "an adapter needs a name and a folder",
    where: "--adapter",
    got: text,
    expected: "NAME=FOLDER",
  });
}
