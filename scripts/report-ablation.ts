import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "../eval/report/report.ts";
import { reportOfAblation } from "../eval/report/result-report.ts";
import { planFacts } from "../eval/report/stored-results.ts";
import { openRunFolder } from "../track/run-folder.ts";
import { type AblationPlan, type Job, jobsOf, readPlan } from "./ablation-folder.ts";
import { ablationReport, type Ending } from "./ablation-results.ts";
import { readSummary } from "./run-record.ts";

/** The report of an ablation that has not ended once, from the cells that are done; undefined for any other folder. */
export function reportOfOpenAblation(folder: string): Report | undefined {
  const has = (name: string) => existsSync(join(folder, name));
  if (!has("plan.json") || has("ablation.json")) return undefined;
  const plan = readPlan(folder);
  const jobs = jobsOf(folder, plan);
  const endings = new Map(jobs.map((job): [Job, Ending] => [job, { status: statusOf(job, plan) }]));
  return reportOfAblation(ablationReport(plan, jobs, endings), planFacts(folder));
}

function statusOf({ folder }: Job, { what }: AblationPlan): "done" | "pending" {
  const done =
    what === "train"
      ? existsSync(join(folder, "config.yaml")) && readSummary(openRunFolder(folder))?.status === "done"
      : existsSync(join(folder, "evaluation.json"));
  return done ? "done" : "pending";
}
