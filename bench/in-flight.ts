/**
 * What many episodes at a time cost: memory of the client and its CPU per turn with 1,024 episodes in flight over HTTP,
 * against a stub server in another process that answers late, beside the same with 64. Live heap: after a garbage
 * collection, when every episode waits for the server; peaks: between two collections, sampled.
 *
 *   npx tsx bench/in-flight.ts [LATENCY_MS]     default 3000
 */
import { inOwnProcess, startStubProcess } from "./child.ts";
import { harness, median, overHttp } from "./harness.ts";
import { remembering, tokenising, turnsPerEpisode } from "./workload.ts";

const sizes = [64, 1024];
const groupSize = 16;
/** Steps whose CPU is measured. */
const rounds = 4;

interface Memory {
  /** Bytes. */
  readonly rss: number;
  readonly heap: number;
}
interface Result {
  /** Before the first episode, warm and collected. */
  readonly idle: Memory;
  readonly full: Memory;
  readonly peak: Memory;
  /** Microseconds of CPU. */
  readonly perTurn: number;
}

const memory = (): Memory => {
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heap: heapUsed };
};
const collected = (): Memory => {
  global.gc?.();
  return memory();
};

async function measure(atATime: number, instant: string, slow: string): Promise<Result> {
  const tokenizer = remembering(tokenising);
  const warm = overHttp(instant, { tokenizer, maxInFlight: 64 });
  const warmUp = harness({ policy: warm.sampler, tokenizer, groupSize: 8, concurrency: 64 });
  for (let i = 0; i < 2; i++) await warmUp();
  await warm.close();

  const server = overHttp(slow, { tokenizer, maxInFlight: atATime });
  const step = harness({
    policy: server.sampler,
    tokenizer,
    groupSize,
    concurrency: atATime,
    questions: atATime / groupSize,
  });
  const idle = collected();
  let full: Memory | undefined;
  const peak = { rss: 0, heap: 0 };
  const watch = setInterval(() => {
    const now = memory();
    peak.rss = Math.max(peak.rss, now.rss);
    peak.heap = Math.max(peak.heap, now.heap);
  }, 20);
  await step();
  clearInterval(watch);

  // The last turn has the longest prompts: it counts.
  const look = setInterval(() => {
    if (server.inFlight() === atATime) full = collected();
  }, 500);
  await step();
  clearInterval(look);
  if (full === undefined) throw new Error(`never ${atATime} in flight: raise the latency`);

  const costs: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const { turns, cpuSeconds } = await step();
    costs.push((cpuSeconds * 1e6) / turns);
  }
  await server.close();
  return { idle, full, peak, perTurn: median(costs) };
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0).padStart(4)} MiB`;

function show(atATime: number, { idle, full, peak, perTurn }: Result): void {
  const each = (full.heap - idle.heap) / atATime / 1024;
  say(
    `${String(atATime).padStart(5)} in flight  RSS ${mib(Math.max(peak.rss, idle.rss))}  heap ${mib(peak.heap)}, ` +
      `live ${mib(full.heap)} (idle ${mib(idle.heap)}: ${each.toFixed(0)} KiB an episode)  ${perTurn.toFixed(0)} us of CPU a turn`,
  );
}

async function main(latencyMs: number): Promise<void> {
  say(`episodes of ${turnsPerEpisode} turns over HTTP, answers after ${latencyMs} ms`);
  const [instant, slow] = await Promise.all([startStubProcess(), startStubProcess(latencyMs)]);
  try {
    for (const size of sizes) {
      const args = ["measure", String(size), instant.url, slow.url];
      show(size, inOwnProcess<Result>("in-flight.ts", args, ["--expose-gc"]));
    }
  } finally {
    await Promise.all([instant.close(), slow.close()]);
  }
}

const [what = "3000", size, instant = "", slow = ""] = process.argv.slice(2);
if (what !== "measure") await main(Number(what));
else say(JSON.stringify(await measure(Number(size), instant, slow)));
