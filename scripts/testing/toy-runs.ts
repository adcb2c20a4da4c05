import { readdirSync, readFileSync } from "node:fs";
import { loadPolicy } from "../../rl/policy/checkpoint.ts";
import { openRunDb } from "../../track/run-db.ts";
import { type Project, toyProject } from "./toy-project.ts";
import { schooled } from "./toy-school.ts";
import { type Serving, serving, type ToyServed } from "./toy-served.ts";

type Event = Readonly<Record<string, unknown>>;

/** LoRA runs of three steps over one base model, alike but for where their policy samples. */
export interface ToyRuns {
  readonly project: Project;
  /** Servers of the base model. */
  readonly toys: Serving;
  /** The command line of a run. */
  begin(name: string, ...more: string[]): string[];
  train(name: string, ...more: string[]): ReturnType<Project["forager"]>;
  /** Every episode's tokens, in the order of steps, groups and members. */
  episodes(name: string): readonly { readonly tokens: readonly (readonly (readonly number[])[])[] }[];
  /** Largest difference between the weights of two runs' last checkpoints. */
  weightGap(a: string, b: string): number;
  /** How the names of a run's adapters begin. */
  nameOf(run: string, adapters?: string): string;
  close(): Promise<void>;
}

/** With a first run that samples in process, called `local`. */
export async function toyRuns(): Promise<ToyRuns> {
  const project = toyProject();
  const { at } = project;
  const base = await schooled(project);
  const toys = await serving(base);
  const begin: ToyRuns["begin"] = (name, ...more) => [
    ...["train", at("train.yaml"), `run.dir=${at(name)}`, "env.maxTurns=3", "rl.slots=512", "rl.steps=3"],
    `model={ path: ${base}, lora: { rank: 4, alpha: 8 } }`,
    ...["rollout.groupSize=6", "rollout.maxRows=12", "track.saveEvery=1", "rl.schedule.learningRate=0.03"],
    ...["--json", ...more],
  ];
  const adapterOf = (name: string) => {
    const last = readdirSync(at(`${name}/checkpoints`))
      .sort()
      .at(-1);
    const adapter = at(`${name}/checkpoints/${last}/adapter`);
    return loadPolicy(base, { training: "lora", adapter, seed: 0 }).trainable;
  };
  const runs: ToyRuns = {
    ...{ project, toys, begin },
    train: (name, ...more) => project.forager(...begin(name, ...more)),
    episodes(name) {
      const db = openRunDb(at(name));
      try {
        return db
          .metrics()
          .flatMap(({ step }) => db.trajectories(step))
          .map(({ step, group, member, taskId, outcome, sequences }) => ({
            ...{ step, group, member, taskId, outcome },
            tokens: sequences.map(({ segments }) => segments.map(({ tokens }) => tokens)),
          }));
      } finally {
        db.close();
      }
    },
    weightGap(a, b) {
      const [one, other] = [adapterOf(a), adapterOf(b)];
      const gaps = Object.entries(one).flatMap(([name, { data }]) =>
        Array.from(data, (x, i) => Math.abs(x - (other[name]?.data[i] ?? Number.NaN))),
      );
      return Math.max(...gaps);
    },
    nameOf: (run, adapters = at(`${run}/adapters`)) =>
      (JSON.parse(readFileSync(`${adapters}/names.json`, "utf8")) as { run: string }).run,
    async close() {
      await toys.close();
      project.remove();
    },
  };
  const local = await runs.train("local");
  if (local.code !== 0) throw new Error(local.stderr);
  return runs;
}

/** The override that names these servers. */
export const on = (...servers: readonly ToyServed[]): string => onWith({}, ...servers);

/** The same with other keys of the section. */
export function onWith(
  keys: Readonly<Record<string, string | number>>,
  ...servers: readonly ToyServed[]
): string {
  return `endpoint=${JSON.stringify({ servers: servers.map(({ url }) => url), ...keys })}`;
}

/** The step events of a run, in order. */
export const stepsOf = (events: readonly Event[]) =>
  events.filter(({ event }) => event === "step") as unknown as readonly (Event & {
    "mismatch/mean_abs": number;
  })[];
