import type { Command } from "./command.ts";

/** A command's name and purpose, known without loading it. */
export interface CommandRow {
  /** One or two words: "train", "index build". */
  readonly name: string;
  readonly describe: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order --help lists them. */
export const commandRows: readonly CommandRow[] = [
  {
    name: "init",
    describe: "write a commented starter (config, questions, corpus) into a new folder",
    load: async () => (await import("./init.ts")).command,
  },
  {
    name: "train",
    describe: "the main job: warm-up, reinforcement learning, evaluations; writes a run folder",
    load: async () => (await import("./train.ts")).command,
  },
  {
    name: "sft",
    describe: "supervised warm-up alone",
    load: async () => (await import("./sft.ts")).command,
  },
  {
    name: "eval",
    describe: "EM@k and the rest on a config's benchmarks, with intervals",
    load: async () => (await import("./eval.ts")).command,
  },
  {
    name: "rollout",
    describe: "play questions with a policy and look at the episodes",
    load: async () => (await import("./rollout.ts")).command,
  },
  {
    name: "play",
    describe: "take the policy's seat yourself",
    load: async () => (await import("./play.ts")).command,
  },
  {
    name: "score",
    describe: "exact match, F1 and cover EM of predictions or stored episodes",
    load: async () => (await import("./score-command.ts")).command,
  },
  {
    name: "merge",
    describe: "write a run's policy as a plain Hugging Face folder",
    load: async () => (await import("./merge.ts")).command,
  },
  {
    name: "index build",
    describe: "build a search index from a corpus",
    load: async () => (await import("./index-command.ts")).build,
  },
  {
    name: "index search",
    describe: "ask an index a question",
    load: async () => (await import("./index-command.ts")).search,
  },
  {
    name: "index stats",
    describe: "say what is in an index",
    load: async () => (await import("./index-command.ts")).stats,
  },
];
