import type { Loaded } from "../configs/load.ts";
import type { Config } from "../configs/schema.ts";
import { CheckpointError } from "../core/errors.ts";
import { teamCostOf } from "../eval/report/team-report.ts";
import { checkRunFolder, type RunFolder } from "../track/run-folder.ts";
import { sampledTokens } from "../track/sampled-tokens.ts";
import { closingWords } from "./closing-words.ts";
import type { Extensions } from "./extensions.ts";
import type { Output } from "./output.ts";
import { preflight } from "./preflight.ts";
import {
  failedSummary,
  openRecord,
  round,
  runPath,
  type Summary,
  startRecord,
  summaryOf,
} from "./run-record.ts";
import { openSetup, type Setup } from "./setup.ts";
import { runTraining } from "./train-run.ts";
import { checkWarmUp } from "./warm-up.ts";

/** What systems and SQLite say when a file cannot be written; often without saying which. */
const diskCodes = /^(ENOSPC|EDQUOT|EFBIG|EROFS|EACCES|EPERM|EIO|SQLITE_(FULL|READONLY|IOERR|CANTOPEN).*)$/;

function diskTrouble(error: unknown, folder: RunFolder): CheckpointError | undefined {
  const { code, path } = (error ?? {}) as { code?: unknown; path?: unknown };
  if (typeof code !== "string" || !diskCodes.test(code)) return undefined;
  return new CheckpointError({
    what: /ENOSPC|FULL/.test(code) ? "the disk is full" : "the run's record cannot be written",
    where: typeof path === "string" ? path : folder.path,
    got: (error as Error).message,
    next: `Mend that, then go on with \`forager train --resume ${folder.path}\`; what is on disk is whole.`,
    cause: error,
  });
}

/** One call of a command that trains. */
export interface Attempt {
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Date.now() at the start. */
  readonly began: number;
  readonly extensions?: Extensions;
}

/** Makes a new run and trains into it; everything that can be checked is checked before there is a folder. */
export async function runNew(
  loaded: Loaded<Config>,
  o: Attempt,
): Promise<{ folder: RunFolder; summary: Summary }> {
  const now = new Date(o.began);
  const path = runPath(loaded.config, now);
  checkRunFolder(path);
  const setup = await openSetup(loaded.config, o);
  try {
    await checkWarmUp(setup, o.output.warn);
    await preflight(setup, o);
    const { folder, lock } = startRecord(path, loaded, setup, now);
    try {
      return { folder, summary: await runInto(folder, setup, o) };
    } finally {
      lock.release();
    }
  } finally {
    await setup.close();
  }
}

/** Trains into a run folder that this process has locked; whatever happens, summary.json says how it ended. */
export async function runInto(
  folder: RunFolder,
  setup: Setup,
  o: { output: Output; signal: AbortSignal; began: number },
): Promise<Summary> {
  const { output } = o;
  const record = openRecord(folder, setup, o.began);
  try {
    output.line(`run folder ${folder.path}`);
    output.event("run", { folder: folder.path });
    const result = await runTraining(setup, record, o).catch((error: unknown) => {
      try {
        record.summary(failedSummary(record, error));
      } catch {
        // Where even this cannot be written (a full disk), the error itself matters more.
      }
      throw diskTrouble(error, folder) ?? error;
    });
    const seconds = round(record.seconds());
    const team = teamCostOf(folder.path, { seconds, prices: setup.config.eval.prices });
    const summary: Summary = {
      status: result.status,
      steps: result.steps,
      seconds,
      sampledTokens: sampledTokens(record.db.metrics()),
      ...(team ? { team } : {}),
      evals: result.evals.map(summaryOf),
      weightsSha256: result.weightsSha256,
    };
    record.summary(summary);
    closingWords(setup, record, result, { output, team });
    return summary;
  } finally {
    record.close();
  }
}
