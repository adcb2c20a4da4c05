import { randomInt } from "node:crypto";
import { loadConfig } from "../configs/load-config.ts";
import { RewardError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import type { Ending, Environment, Seat } from "../env/environment.ts";
import { scoreAll } from "../reward/score-all.ts";
import type { Segment, Trajectory } from "../rollout/trajectory.ts";
import { defineCommand } from "./command.ts";
import { colorful, isScored, rewardLines } from "./episode-words.ts";
import { play } from "./play-session.ts";
import { allOf, questionById, splitOf } from "./questions.ts";
import { openSetup } from "./setup.ts";
import { withConfig } from "./with-config.ts";

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    ["forager play configs/quickstart.yaml", "take the policy's seat for a random question"],
    ["forager play my.yaml --question q17 < turns.txt", "one question, your turns from a file"],
  ],
  builder: (yargs) =>
    withConfig(yargs)
      .option("question", { type: "string", describe: "id of the question; default: a random one" })
      .option("split", {
        type: "string",
        describe: "`train`, or a benchmark's name; default: the first benchmark",
      })
      .option("seed", { type: "number", describe: "draws the question: the same seed, the same question" }),
  async run({ config: path, overrides, question, split, seed }, output, signal, extensions) {
    const { config } = loadConfig(path, overrides);
    const setup = await openSetup(config, { output, signal, extensions });
    try {
      const task =
        question === undefined
          ? rng(seed ?? randomInt(2 ** 31), "play").pick(allOf(setup, splitOf(setup, split)))
          : questionById(setup, question, split).task;
      output.line(`question ${task.id}, ${task.hops === 1 ? "1 hop" : `${task.hops} hops`}`);
      const people = output.json ? process.stderr : process.stdout;
      const { environment, said } = recording(setup.environment);
      const ending = await play({
        ...{ environment, task, signal, input: process.stdin, output: people },
        interactive: process.stdin.isTTY === true && people.isTTY === true,
      });
      if (!ending) {
        output.result({ question: task.id, left: true });
        return;
      }
      const [scored] = await scoreAll(setup.score, [trajectoryOf(task, said, ending)], signal);
      output.print(rewardLines(scored!, colorful(output)));
      const { outcome, turns } = ending;
      if (!isScored(scored!))
        throw new RewardError({ what: "the episode could not be judged", got: scored!.failure ?? "" });
      const { reward, parts, prediction = null } = scored;
      output.result({ question: task.id, outcome, turns, prediction, reward, parts });
    } finally {
      await setup.close();
    }
  },
});

/** Turns by seat. */
type Said = Readonly<Record<string, Segment[]>>;

/** The same environment, with what its seats say written down. */
function recording(environment: Environment): { environment: Environment; said: Said } {
  const said = Object.fromEntries(environment.seats.map((name) => [name, [] as Segment[]]));
  const listened = (name: string, seat: Seat): Seat => ({
    observe: (text) => seat.observe(text),
    async act(options) {
      const act = await seat.act(options);
      said[name]?.push({ source: "policy", tokens: [], text: act.text, finish: act.finish });
      return act;
    },
  });
  return {
    said,
    environment: {
      ...environment,
      play: (asked, seats, signal) =>
        environment.play(
          asked,
          Object.fromEntries(Object.entries(seats).map(([name, seat]) => [name, listened(name, seat)])),
          signal,
        ),
    },
  };
}

/** A person's episode as the reward reads it: text and ending; there are no tokens. */
function trajectoryOf(task: Task, said: Said, ending: Ending): Trajectory {
  return {
    ...{ task, member: 0, outcome: ending.outcome, ending, temperature: 0, seconds: 0 },
    sequences: Object.entries(said).map(([seat, segments]) => ({ seat, segments })),
  };
}
