import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { nearest } from "../core/nearest.ts";
import { type ReportFormat, reportFormatNames, reportFormats } from "../eval/report/formats.ts";
import { gatherReport } from "../eval/report/gather.ts";
import { checkOutFolder } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { reportOfOpenAblation } from "./report-ablation.ts";

export const command = defineCommand({
  positionals: "<folder>",
  examples: [
    ["forager report runs/quickstart", "runs/quickstart/report.html and report.md, a model card"],
    ["forager report runs/quickstart --format html,json,csv --out reports/1", "other forms, another place"],
    ["forager report evals/smollm2-3f2a91c0", "of an evaluation alone"],
    ["forager report runs/ablate-reward-weights", "cells against the base, and their learning curves"],
  ],
  builder: (yargs) =>
    yargs
      .positional("folder", {
        type: "string",
        demandOption: true,
        describe: "a run folder or an ablation's, finished or not; an evaluation's, or one of search-value",
      })
      .option("out", { type: "string", describe: "folder to write into; default: the folder itself" })
      .option("format", {
        type: "string",
        default: "html,md",
        describe: `forms to write, with commas between: ${reportFormatNames.join(", ")}`,
      }),
  async run({ folder, out = folder, format }, output) {
    const formats = formatsOf(format);
    const files = formats.map((name) => ({ name, path: join(out, `report.${name}`) }));
    if (out !== folder) checkOutFolder(out);
    for (const { name, path } of files) checkOurs(name, path);
    const report = reportOfOpenAblation(folder) ?? gatherReport(folder);
    for (const { name, path } of files) writeFileAtomic(path, reportFormats[name].render(report));
    for (const reason of report.partial) output.warn(`partial: ${reason}`);
    output.line(report.headline.join(" "));
    for (const { path } of files) output.print(path);
    const { kind, name, partial, headline } = report;
    output.result({ kind, name, partial, headline, files: files.map(({ path }) => path) });
  },
});

function formatsOf(text: string): ReportFormat[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  return names.map((name) => {
    const known = reportFormatNames.find((each) => each === name);
    if (known) return known;
    const close = nearest(name, [...reportFormatNames]);
    throw new ConfigError({
      what: `there is no form \`${name}\` of a report`,
      where: "--format",
      expected: `one or more of ${reportFormatNames.join(", ")}, with commas between`,
      ...(close ? { next: `Did you mean \`${close}\`?` } : {}),
    });
  });
}

/** A report may be made anew over an older one; nothing else is overwritten. */
function checkOurs(name: ReportFormat, path: string): void {
  if (!existsSync(path) || readFileSync(path, "utf8").startsWith(reportFormats[name].mark)) return;
  throw new ConfigError({
    what: "a file that is no report of Forager's is in the way",
    where: path,
    next: "Name another folder with --out, or move the file.",
  });
}
