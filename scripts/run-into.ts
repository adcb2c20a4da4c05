import type { RunFolder } from "../track/run-folder.ts";
import { closingWords } from "./closing-words.ts";
import type { Output } from "./output.ts";
import { failedSummary, openRecord, round, type Summary, summaryOf } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import { runTraining } from "./train-run.ts";

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
      throw error;
    });
    const summary: Summary = {
      status: result.status,
      steps: result.steps,
      seconds: round(record.seconds()),
      evals: result.evals.map(summaryOf),
      weightsSha256: result.weightsSha256,
    };
    record.summary(summary);
    closingWords(setup, record, result, output);
    return summary;
  } finally {
    record.close();
  }
}
