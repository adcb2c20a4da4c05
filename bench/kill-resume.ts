/**
 * Kills a training run with SIGKILL at random moments, resumes it, and compares all that it leaves with a run that was
 * never stopped: weights, metrics, samples in order, evaluation records, checkpoints.
 *
 *     npx tsx bench/kill-resume.ts [KILLS] [CONFIG] [key=value ..]      default: 20 configs/tiny.yaml
 *
 * One line a run; exit code 1 when any run ends otherwise.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { packageRoot } from "../core/package-root.ts";
import { rng } from "../core/rng.ts";
import { runDifference, runFingerprint } from "../scripts/testing/run-fingerprint.ts";

const [kills = "20", config = join(packageRoot(), "configs/tiny.yaml"), ...overrides] = process.argv.slice(2);
const parent = mkdtempSync(join(tmpdir(), "forager-kill-"));

/** When to kill: so many events after the start, and then so many seconds later. */
interface Moment {
  readonly events: number;
  readonly seconds: number;
}

/** Starts or resumes the run in `folder` and kills it at `moment`. `killed` is false when it came to its end before. */
async function attempt(folder: string, moment?: Moment): Promise<{ killed: boolean; events: number }> {
  const words = existsSync(join(folder, "config.yaml"))
    ? ["--resume", folder]
    : [config, `run.dir=${folder}`, ...overrides];
  const main = join(packageRoot(), "scripts/main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", main, "train", ...words, "--json", "--quiet"], {
    cwd: packageRoot(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += String(chunk);
  });
  const stop = new AbortController();
  let events = 0;
  let armed = false;
  const arm = () => {
    if (armed || moment === undefined || events < moment.events) return;
    armed = true;
    sleep(moment.seconds * 1e3, undefined, { signal: stop.signal }).then(
      () => child.kill("SIGKILL"),
      () => {},
    );
  };
  child.stdout.on("data", (chunk: Buffer) => {
    events += String(chunk).split("\n").length - 1;
    arm();
  });
  arm();
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  stop.abort();
  if (signal !== "SIGKILL" && code !== 0) throw new Error(`exit code ${code}: ${said}`);
  return { killed: signal !== null, events };
}

/** Where a killed run stands, in words. */
function standing(folder: string): string {
  if (!existsSync(join(folder, "config.yaml"))) return "before the run began";
  const file = join(folder, "metrics.jsonl");
  const last = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").at(-1) : "";
  const { phase = "", step = "" } = last ? (JSON.parse(last) as { phase?: string; step?: number }) : {};
  const names = (name: string) => (existsSync(join(folder, name)) ? readdirSync(join(folder, name)) : []);
  const checkpoints = names("checkpoints")
    .filter((name) => !name.endsWith(".tmp"))
    .sort();
  const writing = names("checkpoints").some((name) => name.endsWith(".tmp")) ? ", writing a checkpoint" : "";
  const evaluating = names("evals").find((name) => !existsSync(join(folder, "evals", name, "result.json")));
  const at = phase === "" ? "before the first step" : `after ${phase} step ${step}`;
  return `${at}${writing}${evaluating ? `, evaluating ${evaluating}` : ""}, last checkpoint ${checkpoints.at(-1) ?? "none"}`;
}

const began = performance.now();
const whole = await attempt(join(parent, "whole"));
const seconds = (performance.now() - began) / 1e3;
const expected = runFingerprint(join(parent, "whole"));
console.log(`never stopped: ${seconds.toFixed(1)} s, ${whole.events} events`);

let killed = 0;
let wrong = 0;
for (let run = 0; killed < Number(kills); run++) {
  const folder = join(parent, `run-${run}`);
  const random = rng(1, "kill-resume", run);
  const moments: string[] = [];
  // One to three kills a run: a resumed run is killed too.
  for (let left = 1 + random.int(3); left > 0; left--) {
    const moment = { events: random.int(whole.events), seconds: (random() * seconds) / whole.events };
    if (!(await attempt(folder, moment)).killed) break;
    killed++;
    moments.push(standing(folder));
  }
  if (moments.length === 0) continue;
  await attempt(folder);
  const difference = runDifference(expected, runFingerprint(folder));
  if (difference.length > 0) wrong++;
  const verdict =
    difference.length === 0 ? "same" : `DIFFERENT\n    ${difference.slice(0, 12).join("\n    ")}`;
  console.log(`run ${run}, killed ${moments.join("; then ")}: ${verdict}`);
  if (difference.length === 0) rmSync(folder, { recursive: true, force: true });
}
console.log(`${killed} kills, ${wrong} runs that ended otherwise${wrong > 0 ? ` (kept in ${parent})` : ""}`);
if (wrong === 0) rmSync(parent, { recursive: true, force: true });
process.exit(wrong > 0 ? 1 : 0);
