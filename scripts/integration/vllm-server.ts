import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ForagerError } from "../../core/errors.ts";

export interface VllmServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** What the server is started with; each for a reason. */
const flags = (o: { model: string; port: number; maxLoras: number }) => [
  ...["serve", o.model, "--served-model-name", "base", "--host", "127.0.0.1", "--port", String(o.port)],
  // bfloat16 is slower than float32 on most CPUs, and 0.1 off per token.
  ...["--dtype", "float32", "--max-model-len", "2048", "--max-num-seqs", "64"],
  // A request with a seed whose prompt is split over two steps kills the engine on a CPU.
  ...["--no-enable-chunked-prefill", "--max-num-batched-tokens", "2048"],
  ...["--enable-lora", "--max-lora-rank", "16"],
  ...["--max-loras", String(o.maxLoras), "--max-cpu-loras", String(4 * o.maxLoras)],
  // The trainer's log-probabilities are after temperature; no default of the model's may slip in.
  ...["--logprobs-mode", "processed_logprobs", "--generation-config", "vllm"],
];

/** Starts the vLLM of `folder` (install-vllm.sh made it) and waits until it answers; a minute or two on two cores. */
export async function startVllm(
  folder: string,
  o: { port: number; maxLoras: number; say: (text: string) => void },
): Promise<VllmServer> {
  const log = join(folder, "server.log");
  const scratch = join(folder, "tmp");
  mkdirSync(scratch, { recursive: true });
  const out = createWriteStream(log);
  const child = spawn(join(folder, "venv/bin/vllm"), flags({ ...o, model: join(folder, "model") }), {
    detached: true, // with its engine it is a group of processes: ended together
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      ...{ HF_HUB_OFFLINE: "1", VLLM_NO_USAGE_STATS: "1", DO_NOT_TRACK: "1", TMPDIR: scratch },
      ...{ VLLM_ALLOW_RUNTIME_LORA_UPDATING: "1", VLLM_SERVER_DEV_MODE: "1", VLLM_CPU_KVCACHE_SPACE: "2" },
    },
  });
  child.stdout.pipe(out);
  child.stderr.pipe(out);
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = `http://127.0.0.1:${o.port}`;
  const stop = async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await Promise.race([gone, sleep(15_000, undefined, { ref: false })]);
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  };
  const began = performance.now();
  while (performance.now() - began < 600_000) {
    if (child.exitCode !== null) break;
    const healthy = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (healthy) {
      o.say(`vLLM answers at ${url} after ${((performance.now() - began) / 1e3).toFixed(0)} s`);
      return { url, stop };
    }
    await sleep(1_000);
  }
  await stop();
  throw new ForagerError({
    what: "vLLM did not start",
    where: log,
    got: readFileSync(log, "utf8").trimEnd().split("\n").slice(-5).join("\n"),
  });
}
