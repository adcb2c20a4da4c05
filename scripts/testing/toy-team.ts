import { loadConfig } from "../../configs/load-config.ts";
import { readRecords } from "../../datasets/records.ts";
import type { Task } from "../../datasets/task.ts";
import { worldTasks } from "../../datasets/world/tasks.ts";
import { teamPresets } from "../../env/team/experts/expert.ts";
import { expertSeats } from "../../env/team/experts/seats.ts";
import { demonstrate } from "../../rollout/demonstrate.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { openRunDb, type StoredTrajectory } from "../../track/run-db.ts";
import { makeOutput, type Output } from "../output.ts";
import { openSetup, type Setup } from "../setup.ts";
import { worldTeam } from "../team.ts";
import { type Project, toyProject } from "./toy-project.ts";

const config = (run: string) => `run: { name: team, dir: ${JSON.stringify(run)} }
model: { tiny: { layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 384 } }
data: { train: { kind: world, clusters: 3 } }
env:
  name: team
  topK: 2
  turnTokens: 48
  observationTokens: 96
  passageFormat: plain
  observationOpen: "<information>"
  observationClose: "</information>"
  noResults: ""
  correction: ""
  team: { maxRounds: 3, correction: "", roles: { analyst: { on: false }, summarizer: { on: false } } }
rollout: { tasksPerStep: 2, groupSize: 2, maxRows: 4, prompt: { format: plain, template: "<question> {question} </question>" } }
reward: { preset: team }
rl: { steps: 1, slots: 1024, filter: none }
eval: { benchmarks: [] }
`;

/** A run of a team of three in a small world, whose second step is what demonstrators have played. */
export interface ToyTeam {
  readonly project: Project;
  /** The run's folder; its config is team.yaml. */
  readonly run: string;
  readonly setup: Setup;
  readonly output: Output;
  /** The episodes of the second step: 6 tasks, two members each. */
  readonly stored: readonly StoredTrajectory[];
  /** A planner that skips a step at first; no other mistake. */
  play(task: Task, member: number): Promise<Trajectory>;
  close(): Promise<void>;
}

export async function toyTeam(): Promise<ToyTeam> {
  const project = toyProject();
  const output = makeOutput({ json: true, quiet: true }, process);
  const run = project.at("team");
  const yaml = project.write("team.yaml", config(run));
  const { code, stderr } = await project.forager("train", yaml, "--quiet");
  if (code !== 0) throw new Error(stderr);
  const setup = await openSetup(loadConfig(yaml, []).config, {
    output,
    signal: new AbortController().signal,
  });
  const { environment, tokenizer, renderer, world } = setup;
  const habits = { ...teamPresets.clean, planner: { skip: 1, skipAgain: 0, forget: 0 } };
  const play = (task: Task, member: number) => {
    const expert = expertSeats(worldTeam(world!, task, { habits, seed: 1, member }), environment.seats);
    const shared = { environment, tokenizer, renderer, seed: 1, step: 1, contextTokens: 384 };
    return demonstrate({ ...shared, task, member, expert });
  };
  const tasks = worldTasks({ world: world!, split: "train", n: 6, seed: 3 });
  const db = openRunDb(run);
  const trajectories = [];
  for (const [group, task] of tasks.entries())
    for (const member of [0, 1]) {
      const { unsampled: _, ...sampled } = setup.score(await play(task, member));
      trajectories.push({ trajectory: sampled, group, verdict: "kept", advantage: 0 });
    }
  db.commit({ phase: "rl", step: 2, metrics: {}, trajectories });
  const stored = db.trajectories(2);
  db.close();
  return {
    ...{ project, run, setup, output, stored, play },
    async close() {
      await setup.close();
      project.remove();
    },
  };
}

/** A chat row as our exports write it. */
export interface Row {
  readonly messages: readonly { readonly role: string; readonly content: string; readonly weight?: number }[];
  readonly input_ids: readonly number[];
  readonly assistant_masks: readonly number[];
  readonly provenance: Readonly<Record<string, unknown>>;
}

export async function rowsOf(path: string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const { value } of readRecords(path)) rows.push(value as unknown as Row);
  return rows;
}
