/**
 * What the harness itself costs per turn. The policy answers at once, and the index lies in memory, so what is measured
 * is ours: environment, search in the toy index, seat, ledger, audit, waves, groups; over HTTP also fleet, retries,
 * the openai client, our fetch and the checks of replies. In process, texts are tokenised once and looked up after that,
 * as for the peer, whose ids come ready from its stub too; one row shows the same with tokenising. Turns per second of
 * the client's CPU time (the stub server is another process), so that a busy machine changes it less; one core, since
 * all of it is one thread (the garbage collector's helpers are counted). Each row has a process of its own.
 *
 *   npx tsx bench/rollout.ts [ROUNDS]                         ours; all rows in turn, ROUNDS times (default 1)
 *   FORAGER_PYTHON=venv/bin/python npx tsx bench/rollout.ts   ours and verifiers (pip install verifiers==0.1.14)
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BatchSampler, Completion, SampleRequest, Sampler } from "../rollout/sampler.ts";
import { completionOf } from "../rollout/testing.ts";
import { inOwnProcess, lastLine, startStubProcess } from "./child.ts";
import { harness, median, overHttp } from "./harness.ts";
import { remembering, tokenising, turnsPerEpisode, workload } from "./workload.ts";

const groupSize = 8;
const atATime = 64;

/** Says the question's turns without computing anything; turn and question are read off the request. */
function stub(): { plain: Sampler; batch: BatchSampler } {
  const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 500, stop: ["</search>"], seed: 0 };
  const said = new Map(
    workload.questions.map(({ id, turns }) => [
      id,
      turns.map((text) => completionOf(text, { sequence: "", prompt: [], params }, tokenising, 0)),
    ]),
  );
  const turns = new Map<string, number>();
  const answer = ({ sequence }: SampleRequest): Completion => {
    const turn = turns.get(sequence) ?? 0;
    turns.set(sequence, turn + 1);
    return said.get(sequence.split("/")[1] as string)?.[turn] as Completion;
  };
  const rest = { contextTokens: 32_768, release: (sequence: string) => void turns.delete(sequence) };
  return {
    plain: { ...rest, sample: async (request) => answer(request) },
    batch: { ...rest, sampleBatch: async (requests) => requests.map(answer) },
  };
}

/** Turns per CPU second of each repeat; the first compiles and is left out. */
async function ratesOf(o: Omit<Parameters<typeof harness>[0], "groupSize" | "concurrency">, repeats: number) {
  const step = harness({ ...o, groupSize, concurrency: atATime });
  const rates: number[] = [];
  for (let i = 0; i <= repeats; i++) {
    const { turns, cpuSeconds } = await step();
    rates.push(turns / cpuSeconds);
  }
  return rates.slice(1);
}

async function ratesOverHttp(url: string): Promise<readonly number[]> {
  const tokenizer = remembering(tokenising);
  const { sampler, close } = overHttp(url, { tokenizer, maxInFlight: 128 });
  const rates = await ratesOf({ policy: sampler, tokenizer }, 12);
  await close();
  return rates;
}

interface Row {
  readonly name: string;
  readonly rates: (url: string) => Promise<readonly number[]>;
}

const rows = {
  plain: {
    name: `forager, in process, ${atATime} at a time (as for a server)`,
    rates: () => ratesOf({ policy: stub().plain, tokenizer: remembering(tokenising) }, 20),
  },
  waves: {
    name: "forager, in process, in waves (as for the in-process policy)",
    rates: () => ratesOf({ policy: stub().batch, tokenizer: remembering(tokenising) }, 20),
  },
  tokenising: {
    name: "forager, in process, in waves, tokenising as it goes (tiny vocabulary)",
    rates: () => ratesOf({ policy: stub().batch, tokenizer: tokenising }, 20),
  },
  http: { name: `forager, over HTTP, ${atATime} at a time`, rates: ratesOverHttp },
} satisfies Record<string, Row>;
type RowName = keyof typeof rows;
const rowNames = Object.keys(rows) as RowName[];

/** Turns per CPU second of verifiers, by what its client does. */
interface Peer {
  readonly version: string;
  /** Ids and logprobs kept, in process. */
  readonly tokens: number;
  /** Text alone, in process. */
  readonly text: number;
  /** Ids and logprobs kept, from the stub server. */
  readonly http: number;
}

function peer(python: string, url: string): Peer {
  const folder = mkdtempSync(join(tmpdir(), "forager-bench-"));
  try {
    const path = join(folder, "workload.json");
    writeFileSync(path, JSON.stringify({ ...workload, groupSize }));
    const script = fileURLToPath(new URL("peers/verifiers_rollout.py", import.meta.url));
    return {
      ...lastLine<Omit<Peer, "http">>(python, [script, path]),
      ...lastLine<Pick<Peer, "http">>(python, [script, path, `${url}/v1`]),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(rounds: number): Promise<void> {
  const episodes = workload.questions.length * groupSize;
  say(`harness overhead: ${episodes} episodes of ${turnsPerEpisode} turns, instant policy, index in memory`);
  const python = process.env.FORAGER_PYTHON;
  const ours = Object.fromEntries(rowNames.map((name) => [name, []])) as unknown as Record<RowName, number[]>;
  const theirs: Peer[] = [];
  const server = await startStubProcess();
  try {
    for (let round = 0; round < rounds; round++) {
      for (const name of rowNames) {
        ours[name].push(...inOwnProcess<number[]>("rollout.ts", ["row", name, server.url]));
      }
      if (python !== undefined) theirs.push(peer(python, server.url));
      say(`after round ${round + 1} of ${rounds}:`);
      report(ours, theirs);
    }
  } finally {
    await server.close();
  }
}

function report(ours: Record<RowName, number[]>, theirs: readonly Peer[]): void {
  const show = (rate: number, name: string) =>
    say(`${rate.toFixed(0).padStart(8)} turns/s per core  ${name}`);
  for (const name of rowNames) show(median(ours[name]), rows[name].name);
  const [first] = theirs;
  if (first === undefined) {
    say("verifiers not run: set FORAGER_PYTHON to a Python with verifiers to compare");
    return;
  }
  const peerRate = (name: "tokens" | "text" | "http") => median(theirs.map((each) => each[name]));
  const name = `verifiers ${first.version} MultiTurnEnv`;
  show(peerRate("tokens"), `${name}, in process, ids and logprobs kept (OpenAI client, stub)`);
  show(peerRate("text"), `${name}, in process, text only`);
  show(peerRate("http"), `${name}, over HTTP, ids and logprobs kept, ${atATime} at a time`);
  const slower = Math.min(median(ours.plain), median(ours.waves));
  const ratio = (mine: number, other: number) => `${(mine / other).toFixed(1)}x`;
  say(
    `in process ${ratio(slower, peerRate("tokens"))} verifiers for the same record (target 10x; by the slower of our two), ` +
      `${ratio(slower, peerRate("text"))} its text only; over HTTP ${ratio(median(ours.http), peerRate("http"))} (target 10x)`,
  );
}

const [what = "1", row, url = ""] = process.argv.slice(2);
if (what !== "row") await main(Number(what));
else say(JSON.stringify(await rows[row as RowName].rates(url)));
