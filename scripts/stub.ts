import { ConfigError } from "../core/errors.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { type FaultRule, faults } from "../serve/faults.ts";
import { startStub } from "../serve/stub.ts";
import { readStubScript } from "../serve/stub-script.ts";
import { defineCommand } from "./command.ts";
import { apiKeyOf, checkPort, serveUntil, warnOpen, withServer } from "./server-options.ts";
import { parseFault, parseMilliseconds } from "./stub-options.ts";

const about = Object.entries(faults)
  .map(([name, { does }]) => `${name} (${does})`)
  .join(", ");

export const command = defineCommand({
  positionals: "",
  examples: [
    ["forager stub --latency-ms 20-80 --fail 0.25", "random completions, late, a quarter of them a 500"],
    ["forager stub --script say.yaml --fault hang=0.01 --fault restart@40", "scripted, sometimes silent"],
  ],
  builder: (yargs) =>
    withServer(yargs)
      .option("name", { type: "string", default: "stub", describe: "what clients call the model" })
      .option("tokenizer", {
        type: "string",
        describe: "model folder whose tokenizer it uses; default: UTF-8 bytes",
      })
      .option("context", { type: "number", default: 32_768, describe: "tokens of a sequence" })
      .option("script", {
        type: "string",
        describe:
          "YAML or JSON: `lines: [{ question?, turn?, model?, say }]`, patterns and texts, the first that matches is said; default: random words",
      })
      .option("latencyMs", {
        type: "string",
        default: "0",
        describe: "before the first token: 50, or 20-80 for a uniform draw",
      })
      .option("tokensPerSecond", { type: "number", describe: "of each completion; default: all at once" })
      .option("maxRunning", { type: "number", describe: "completions at a time; default: any number" })
      .option("fail", { type: "number", default: 0, describe: "probability of a 500" })
      .option("fault", {
        type: "string",
        array: true,
        describe: `KIND=PROBABILITY or KIND@N,N (numbers of the request, from 1); may be repeated. KIND is ${about}`,
      })
      .option("faultDelayMs", { type: "number", default: 1000, describe: "of slow and loadSlow" })
      .option("anyAdapter", {
        type: "boolean",
        default: false,
        describe: "load adapters whose folder is not there",
      })
      .option("seed", { type: "number", default: 0, describe: "draws latencies and faults" }),
  endsByInterrupt: true,
  async run(args, output, signal) {
    const apiKey = apiKeyOf(args.apiKeyEnv);
    checkPort(args.port);
    checkPositive({ "--tokens-per-second": args.tokensPerSecond, "--max-running": args.maxRunning });
    checkPositive({ "--context": args.context });
    const rules: FaultRule[] = [
      ...(args.fault ?? []).map((text) => ({ ...parseFault(text), delayMs: args.faultDelayMs })),
      ...(args.fail === 0 ? [] : [parseFault(`status500=${args.fail}`)]),
    ];
    const stub = await startStub({
      ...{ name: args.name, contextTokens: args.context, host: args.host, port: args.port, apiKey },
      ...{ seed: args.seed, faults: rules, latencyMs: parseMilliseconds(args.latencyMs) },
      adapterFiles: args.anyAdapter ? "ignore" : "check",
      ...(args.tokenizer === undefined ? {} : { tokenizer: loadTokenizer(args.tokenizer) }),
      ...(args.script === undefined ? {} : { script: readStubScript(args.script) }),
      ...(args.tokensPerSecond === undefined ? {} : { tokensPerSecond: args.tokensPerSecond }),
      ...(args.maxRunning === undefined ? {} : { maxRunning: args.maxRunning }),
    });
    try {
      warnOpen(args.host, apiKey, output);
      await serveUntil(signal, stub, { model: args.name, apiKey, output });
    } finally {
      await stub.close();
    }
    const { requests, faults: struck } = stub.counters;
    output.result({ url: stub.url, model: args.name, requests, faults: struck });
  },
});

function checkPositive(numbers: Readonly<Record<string, number | undefined>>): void {
  for (const [where, value] of Object.entries(numbers))
    if (value !== undefined && !(value > 0))
      throw new ConfigError({ what: "no usable number", where, got: String(value), expected: "above 0" });
}
