import { loadConfig } from "../configs/load-config.ts";
import { ConfigError, DataError } from "../core/errors.ts";
import { sftStages } from "../rl/config.ts";
import { loadChatTemplate } from "../rollout/renderer.ts";
import { jsonlWriter } from "../track/export/jsonl.ts";
import { formatOption, idsOption } from "./chat-options.ts";
import { checkOutFile } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { scriptedExperts } from "./demonstrations.ts";
import { episodeReader, wordingFor } from "./episode-reader.ts";
import { roleNamesIn, roleOption } from "./role-names.ts";
import { openSetup } from "./setup.ts";
import { supervisedRows } from "./supervised-rows.ts";
import { withConfig } from "./with-config.ts";

/** Draws without a demonstration after which there is no use in going on. */
const mostVain = 10_000;

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    [
      "forager export experts team-quickstart -n 1000 --out team.jsonl",
      "full team episodes of the warm-up's demonstrators, errors that are caught among them",
    ],
  ],
  builder: (yargs) =>
    withConfig(yargs)
      .option("n", { type: "number", default: 100, describe: "episodes" })
      .option("stage", {
        type: "number",
        default: 1,
        describe: "stage of the warm-up whose demonstrators show",
      })
      .option("out", { type: "string", demandOption: true, describe: "file to write, new" })
      .option("format", formatOption)
      .option("role", roleOption)
      .option("ids", idsOption),
  async run(args, output, signal, extensions) {
    const { config } = loadConfig(args.config, args.overrides);
    const stages = sftStages(config.sft);
    const stage = stages[args.stage - 1];
    if (stage?.source.kind !== "experts")
      throw new ConfigError({
        what: "no scripted demonstrators show in this stage",
        where: "--stage",
        got: `${args.stage} of ${stages.length}`,
        expected: "a stage of `sft` whose source is `experts`",
        next: "Set sft.steps, or name another stage.",
      });
    const role = roleNamesIn(args.role, config);
    checkOutFile(args.out);
    const setup = await openSetup(config, { output, signal, extensions });
    const writer = jsonlWriter(args.out);
    let [episodes, rows] = [0, 0];
    try {
      const demonstrate = await scriptedExperts(setup, { ...stage, ...stage.source });
      const template = config.model.path ? loadChatTemplate(config.model.path) : undefined;
      const wording = wordingFor(config, { ...setup, template });
      const reader = episodeReader(config, { ...setup, template });
      const provenance = {
        format: "forager-experts@1",
        run: config.run.name,
        verified_by: null,
        demonstrators: stage.source.habits,
      };
      for (let index = 0; episodes < args.n; index++) {
        signal.throwIfAborted();
        if (index > 100 * args.n + mostVain) throw none(args.config);
        const trajectory = await demonstrate(index);
        if (!trajectory) continue;
        episodes++;
        const o = { wording, reader, form: args.format, ids: args.ids, role, provenance };
        for (const row of supervisedRows(trajectory, o)) {
          writer.write(row);
          rows++;
        }
      }
      if (rows === 0) throw none(args.config);
      writer.finish();
    } catch (error) {
      writer.abort();
      throw error;
    } finally {
      await setup.close();
    }
    output.line(`${episodes} episodes, ${rows} rows -> ${args.out}`);
    output.result({ out: args.out, episodes, rows });
  },
});

const none = (where: string) =>
  new DataError({
    what: "the demonstrators showed nothing",
    where,
    next: "Check sft.source and --role.",
  });
