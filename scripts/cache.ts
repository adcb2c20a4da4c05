import { join } from "node:path";
import { ConfigError, DataError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { chatPolicy } from "../rollout/endpoint/chat.ts";
import { endpointConfig } from "../rollout/endpoint/config.ts";
import { openEpisodes } from "../track/export/store.ts";
import { type CacheReport, growCache } from "./cache-episodes.ts";
import { formatOption, idsOption } from "./chat-options.ts";
import { checkOutFile } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { filtersOf, withFilters } from "./export-filters.ts";
import { type FinishedRun, openFinishedRun } from "./finished-run.ts";
import type { Output } from "./output.ts";
import { perturberOf } from "./perturb.ts";
import { replayOf } from "./replay.ts";
import { roleNamesIn, roleOption } from "./role-names.ts";
import { openSetup } from "./setup.ts";

export const command = defineCommand({
  positionals: "<run>",
  examples: [
    ["forager export cache runs/team --perturb 2", "two new episodes from each that the team got right"],
    ["forager export cache runs/team --dry-run", "the share that holds, and why others do not"],
  ],
  builder: (yargs) =>
    withFilters(yargs)
      .option("perturb", {
        type: "number",
        default: 1,
        describe: "new tasks from each verified episode, one thing changed in each",
      })
      .option("habits", {
        type: "string",
        describe: "which demonstrators play them; default: careful in a team, clean without",
      })
      .option("url", {
        type: "string",
        describe:
          "server of a model (chat completions): the verifier of new tasks; of a file's questions it rewrites and plays",
      })
      .option("model", { type: "string", describe: "with --url: its name there" })
      .option("apiKeyEnv", {
        type: "string",
        describe: "with --url: name of the environment variable that holds its key",
      })
      .option("format", formatOption)
      .option("role", roleOption)
      .option("ids", idsOption),
  async run(args, output, signal, extensions) {
    if (!(Number.isInteger(args.perturb) && args.perturb >= 1))
      throw new ConfigError({
        what: "the value is out of range",
        where: "--perturb",
        got: String(args.perturb),
        expected: "a whole number, 1 or more",
      });
    if ((args.url === undefined) !== (args.model === undefined))
      throw new ConfigError({
        what: "a model is named by its server and its name there",
        got: args.url === undefined ? "--model alone" : "--url alone",
        next: "Give both, or neither.",
      });
    const run = openFinishedRun(args.run);
    const role = roleNamesIn(args.role, run.config);
    const filters = await filtersOf(args, run.config, extensions.datasets);
    const out = args.out ?? join(run.folder, "exports", "cache.jsonl");
    if (args.out !== undefined && !args.dryRun) checkOutFile(args.out);
    const model =
      args.url === undefined ? undefined : openModel(run, args.url, args.model!, args.apiKeyEnv, output);
    const setup = await openSetup(run.config, { output, signal, extensions });
    const store = openEpisodes(run.folder);
    try {
      checkTokenizer(run, setup.tokenizer.fingerprint);
      const who = {
        perturb: perturberOf(setup, model?.policy),
        ...(setup.world || setup.family ? {} : { draws: 1 }),
        replay: replayOf(setup, { habits: args.habits, model }),
      };
      const o = { ...args, role, filters, form: args.format, out, signal, output };
      const report = await growCache({ run, setup, store }, who, o);
      if (!args.dryRun) writeFileAtomic(`${out}.summary.json`, `${JSON.stringify(report, null, 2)}\n`);
      tell(report, output);
    } finally {
      model?.policy.close();
      store.close();
      await setup.close();
    }
  },
});

function openModel(
  { config }: FinishedRun,
  url: string,
  name: string,
  apiKeyEnv: string | undefined,
  output: Output,
) {
  const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
  if (apiKeyEnv !== undefined && !apiKey)
    throw new ConfigError({
      what: `the environment variable ${apiKeyEnv} is not set`,
      where: "--api-key-env",
    });
  const section = config.endpoint ?? endpointConfig.parse({ servers: [url] });
  const prompt = config.rollout.prompt;
  return {
    name,
    policy: chatPolicy({ url, model: name, apiKey, config: section, prompt, onNotice: output.warn }),
  };
}

/** The base model may have changed since the run: then its ids would be another's. */
function checkTokenizer({ origin, folder }: FinishedRun, now: string): void {
  if (now === origin.tokenizer) return;
  throw new DataError({
    what: "the run's tokenizer is not that of its config any more",
    where: folder,
    got: now.slice(0, 12),
    expected: origin.tokenizer.slice(0, 12),
    next: "Put the model back where model.path says.",
  });
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function tell(report: CacheReport, output: Output): void {
  const { episodes, verified, perturbed, valid, rows, invalid, dryRun, out } = report;
  output.line(
    `${verified} of ${episodes} episodes verified and right; ${perturbed} perturbed, ${valid} hold`,
  );
  for (const [cause, n] of Object.entries(invalid)) output.line(`  dropped: ${n} (${cause})`);
  output.line(`cache validity ${percent(report.cacheValidityRate)}, verified by ${report.verifiedBy}`);
  output.line(
    `duplicate tasks ${percent(report.duplicateTaskRate)} of the run's groups, ${percent(report.duplicatePerturbationRate)} of the draws`,
  );
  output.line(dryRun ? `${rows} rows would be written` : `${rows} rows -> ${out}`);
  output.result({ ...report });
}
