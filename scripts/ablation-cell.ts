import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { printConfig } from "../configs/print.ts";
import { ForagerError } from "../core/errors.ts";
import { writeFileAtomic, writeFolderAtomic } from "../core/files.ts";
import type { Roll } from "../eval/evaluate.ts";
import { openRunDb } from "../track/run-db.ts";
import { checkpointPath, checkRunFolder, openRunFolder, type RunFolder } from "../track/run-folder.ts";
import { lockRun } from "../track/run-lock.ts";
import { openRunNumbers } from "../track/run-numbers.ts";
import type { Job } from "./ablation-folder.ts";
import { evaluateWith } from "./evaluations.ts";
import { openPolicy } from "./open-policy.ts";
import { preflight } from "./preflight.ts";
import { openRemotePolicy } from "./remote-policy.ts";
import { type Attempt, runInto } from "./run-into.ts";
import { checkConfigUnchanged, checkModelInPlace, takeUp } from "./run-meta.ts";
import { readSummary, startRecord } from "./run-record.ts";
import { openSetup, type ShareEpisodes } from "./setup.ts";
import { checkWarmUp } from "./warm-up.ts";

export interface CellOptions extends Attempt {
  /** Run folders of the same warm-up, which may have its checkpoint. */
  readonly donors: readonly string[];
  readonly share: ShareEpisodes;
}

type Ended = "done" | "interrupted";

/** A run that is new, or goes on from where it stands. */
export async function trainCell({ folder: path, loaded }: Job, o: CellOptions): Promise<Ended> {
  if (!existsSync(join(path, "config.yaml"))) {
    checkRunFolder(path);
    const setup = await openSetup(loaded.config, o);
    try {
      const donor = o.donors.map(warmedUp).find((found) => found !== undefined);
      if (donor === undefined) await checkWarmUp(setup);
      await preflight(setup, o);
      const { folder, lock } = startRecord(path, loaded, setup, new Date(o.began));
      try {
        if (donor !== undefined) await adoptWarmUp(folder, donor);
        return endOf((await runInto(folder, { ...setup, share: o.share }, o)).status);
      } finally {
        lock.release();
      }
    } finally {
      await setup.close();
    }
  }
  const folder = openRunFolder(path);
  if (readSummary(folder)?.status === "done") return "done";
  const lock = lockRun(folder.path);
  try {
    checkConfigUnchanged(folder);
    const { config } = loadConfig(join(folder.path, "config.yaml"));
    checkModelInPlace(config);
    const setup = await openSetup(config, o);
    try {
      takeUp(folder, setup, o.output);
      return endOf((await runInto(folder, { ...setup, share: o.share }, o)).status);
    } finally {
      await setup.close();
    }
  } finally {
    lock.release();
  }
}

const endOf = (status: string): Ended => (status === "done" ? "done" : "interrupted");

/** A run folder whose warm-up is over. */
function warmedUp(path: string): RunFolder | undefined {
  if (!existsSync(join(path, "config.yaml"))) return undefined;
  const folder = openRunFolder(path);
  return existsSync(join(checkpointPath(folder, "rl", 0), "state.json")) ? folder : undefined;
}

/**
 * Makes a new run one that was stopped after its warm-up: with the other's metrics of it and its checkpoint, which comes
 * last, so that a run killed in between warms up by itself.
 */
async function adoptWarmUp(folder: RunFolder, donor: RunFolder): Promise<void> {
  const numbers = openRunNumbers(donor.path);
  const db = openRunDb(folder.path);
  try {
    for (const { phase, step, metrics } of numbers.steps)
      if (phase === "sft") db.commit({ phase, step, metrics, trajectories: [] });
  } finally {
    db.close();
    numbers.close();
  }
  await writeFolderAtomic(checkpointPath(folder, "rl", 0), async (copy) =>
    cpSync(checkpointPath(donor, "rl", 0), copy, { recursive: true }),
  );
}

/** One policy under the cell's config. @throws ForagerError when infrastructure broke too many episodes */
export async function evaluateCell(
  { folder, loaded }: Job,
  o: CellOptions & { readonly policy: string | undefined; readonly step: number | undefined },
): Promise<Ended> {
  if (existsSync(join(folder, "evaluation.json"))) return "done";
  const { config, stated } = loaded;
  const setup = await openSetup(config, o);
  try {
    const { endpoint } = config;
    const policy =
      o.policy === undefined && endpoint !== undefined
        ? await openRemotePolicy({ endpoint: endpoint.servers, chat: false }, setup, o)
        : await openPolicy(o.policy, setup, {
            step: o.step,
            ...(o.extensions ? { extensions: o.extensions } : {}),
          });
    try {
      const roll: Roll = (tasks, request) => {
        const { signal: _signal, onEpisode: _onEpisode, ...draws } = request;
        const batch = { tasks, draws: { ...draws, weights: policy.weights } };
        return o.share(batch, () => policy.roll(tasks, request));
      };
      const { output, signal } = o;
      const results = await evaluateWith(setup, { ...policy, roll, folder, output, signal });
      const broken = results.find(({ valid }) => !valid);
      if (broken)
        throw new ForagerError({
          what: `the evaluation of ${broken.benchmark}, ${broken.mode} does not count`,
          got: `${broken.infra} episodes failed, most by ${broken.failure ?? "an unknown cause"}`,
        });
      writeFileAtomic(join(folder, "config.yaml"), printConfig(config, stated));
      const { label, step, weights } = policy;
      const whole = { policy: label, step, weights, evals: results };
      writeFileAtomic(join(folder, "evaluation.json"), `${JSON.stringify(whole, null, 2)}\n`);
      return "done";
    } finally {
      await policy.close();
    }
  } finally {
    await setup.close();
  }
}
