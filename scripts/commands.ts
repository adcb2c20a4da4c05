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
    name: "rescore",
    describe: "a run's stored episodes under another reward: what changes, and what to beware of",
    load: async () => (await import("./rescore.ts")).command,
  },
  {
    name: "report",
    describe: "a run or an evaluation as a page with charts, as a model card, as JSON or CSV",
    load: async () => (await import("./report.ts")).command,
  },
  {
    name: "export sft",
    describe: "a run's episodes as chat JSONL: OpenAI messages, ShareGPT or TRL",
    load: async () => (await import("./export.ts")).sft,
  },
  {
    name: "export dpo",
    describe: "preference pairs of episodes of one question",
    load: async () => (await import("./export.ts")).dpo,
  },
  {
    name: "export rl",
    describe: "a run's episodes token by token, as Arrow IPC or Parquet",
    load: async () => (await import("./export.ts")).rl,
  },
  {
    name: "export cache",
    describe: "verified episodes with something changed, played and verified again: for SFT alone",
    load: async () => (await import("./cache.ts")).command,
  },
  {
    name: "export experts",
    describe: "what a config's scripted demonstrators show, as chat JSONL",
    load: async () => (await import("./export-experts.ts")).command,
  },
  {
    name: "compare",
    describe: "two or more evaluations, question by question: difference, interval, tests, what is noise",
    load: async () => (await import("./compare.ts")).command,
  },
  {
    name: "search-value",
    describe: "what search is worth to a policy: off, empty, random, oracle, and 0 to n searches",
    load: async () => (await import("./search-value.ts")).command,
  },
  {
    name: "ablate",
    describe: "a grid over config keys and seeds, against its base: differences, intervals, curves",
    load: async () => (await import("./ablate.ts")).command,
  },
  {
    name: "merge",
    describe: "write a run's policy as a plain Hugging Face folder",
    load: async () => (await import("./merge.ts")).command,
  },
  {
    name: "doctor",
    describe: "is everything a config needs as it must be: servers, retriever, scorer, memory, disk, time",
    load: async () => (await import("./doctor.ts")).command,
  },
  {
    name: "serve",
    describe: "put a policy behind vLLM's HTTP API, with adapters loaded while it serves",
    load: async () => (await import("./serve.ts")).command,
  },
  {
    name: "stub",
    describe: "serve scripted or random completions that fail as they are told to, for tests",
    load: async () => (await import("./stub.ts")).command,
  },
  {
    name: "proxy",
    describe: "record what an agent of your own says to a vLLM server, for training on it",
    load: async () => (await import("./proxy.ts")).command,
  },
  {
    name: "data check",
    describe:
      "duplicates, train/test overlap, unusable gold answers and missing gold passages of a config's questions",
    load: async () => (await import("./data-check.ts")).command,
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
