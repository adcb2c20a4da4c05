import { join } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { openEpisodes } from "../track/export/store.ts";
import { formatOption } from "./chat-options.ts";
import { checkOutFile } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { filtersOf, withFilters } from "./export-filters.ts";
import { exportPairs, exportRows, exportSft, type Written } from "./export-run.ts";
import { openFinishedRun } from "./finished-run.ts";
import type { Output } from "./output.ts";
import { roleNamesIn, roleOption } from "./role-names.ts";
import { hasTeam } from "./team.ts";

const ids = {
  type: "boolean",
  default: true,
  describe: "write the sampled token ids beside the text (--no-ids leaves them out)",
} as const;
const toolCalls = {
  type: "boolean",
  default: false,
  describe: "searches as calls of a tool, not as tags in the text",
} as const;
const trainInvalid = {
  type: "boolean",
  default: false,
  describe: "flag turns that were answered with a correction as to be learnt from, too",
} as const;

export const sft = defineCommand({
  positionals: "<run>",
  examples: [
    [
      "forager export sft runs/x --min-reward 1 --per-question 2",
      "right episodes as chat JSONL, two a question",
    ],
    [
      "forager export sft runs/x --format trl --dry-run",
      "how many there would be, and why others are left out",
    ],
    [
      "forager export sft runs/team --role planner,verifier --min-reward 1",
      "what these roles of a team said",
    ],
  ],
  builder: (yargs) =>
    withFilters(yargs)
      .option("format", formatOption)
      .option("toolCalls", toolCalls)
      .option("trainInvalid", trainInvalid)
      .option("role", roleOption)
      .option("ids", ids),
  async run(args, output, signal, extensions) {
    const run = openFinishedRun(args.run);
    const roles = roleNamesIn(args.role, run.config);
    if (args.toolCalls && hasTeam(run.config))
      throw new ConfigError({
        what: "a team's messages have no form as calls of tools",
        where: "--tool-calls",
        next: "Leave it out.",
      });
    const filters = await filtersOf(args, run.config, extensions.datasets);
    const out = args.out ?? join(run.folder, "exports", `sft-${args.format}.jsonl`);
    if (args.out !== undefined && !args.dryRun) checkOutFile(args.out);
    const store = openEpisodes(run.folder);
    try {
      const o = { ...args, role: roles, filters, out, signal, output };
      tell(await exportSft(run, store, o), args.dryRun, output);
    } finally {
      store.close();
    }
  },
});

export const dpo = defineCommand({
  positionals: "<run>",
  examples: [
    [
      "forager export dpo runs/x --margin 0.5",
      "pairs of one question's episodes that differ by 0.5 in reward",
    ],
  ],
  builder: (yargs) =>
    withFilters(yargs)
      .option("margin", { type: "number", default: 0.1, describe: "least difference in reward, above 0" })
      .option("pairsPerGroup", { type: "number", default: 1, describe: "most pairs of one group" })
      .option("toolCalls", toolCalls)
      .option("trainInvalid", trainInvalid)
      .option("ids", ids),
  async run(args, output, signal, extensions) {
    if (!(args.margin > 0)) throw wrong("--margin", String(args.margin), "a number above 0");
    if (!(args.pairsPerGroup >= 1)) throw wrong("--pairs-per-group", String(args.pairsPerGroup), "1 or more");
    const run = openFinishedRun(args.run);
    const filters = await filtersOf(args, run.config, extensions.datasets);
    const out = args.out ?? join(run.folder, "exports", "dpo.jsonl");
    if (args.out !== undefined && !args.dryRun) checkOutFile(args.out);
    const store = openEpisodes(run.folder);
    try {
      tell(await exportPairs(run, store, { ...args, filters, out, signal, output }), args.dryRun, output);
    } finally {
      store.close();
    }
  },
});

export const rl = defineCommand({
  positionals: "<run>",
  examples: [
    ["forager export rl runs/x --out rows.parquet", "tokens, masks, logprobs and rewards, a row a sequence"],
    ["forager export rl runs/x --format arrow --kept", "of the groups that were trained on, as Arrow IPC"],
  ],
  builder: (yargs) =>
    withFilters(yargs).option("format", {
      choices: ["parquet", "arrow"] as const,
      describe: "default: by the ending of --out, else parquet",
    }),
  async run(args, output, signal, extensions) {
    const run = openFinishedRun(args.run);
    const filters = await filtersOf(args, run.config, extensions.datasets);
    const format = args.format ?? (/\.(arrow|feather|ipc)$/u.test(args.out ?? "") ? "arrow" : "parquet");
    const out = args.out ?? join(run.folder, "exports", `rl.${format}`);
    if (args.out !== undefined && !args.dryRun) checkOutFile(args.out);
    const store = openEpisodes(run.folder);
    try {
      tell(
        await exportRows(run, store, { ...args, format, filters, out, signal, output }),
        args.dryRun,
        output,
      );
    } finally {
      store.close();
    }
  },
});

const wrong = (where: string, got: string, expected: string) =>
  new ConfigError({ what: "the value is out of range", where, got, expected });

function tell(written: Written, dryRun: boolean, output: Output): void {
  const { out, rows, episodes, seen, leftOut, partial, notes } = written;
  output.line(
    `${seen} episodes stored, ${episodes} chosen, ${rows} rows${dryRun ? " would be written" : ""}`,
  );
  for (const [reason, n] of Object.entries(leftOut)) output.line(`  left out: ${n} (${reason})`);
  if (partial) output.warn("the run is not done: the export is partial, and every row says so");
  for (const note of notes) output.warn(note);
  if (!dryRun) output.line(`-> ${out}`);
  const { notes: _, ...result } = written;
  output.result({ ...result, dryRun });
}
