import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { savePolicy } from "../../rl/policy/checkpoint.ts";
import { tinyModel, tinySchema } from "../../rl/policy/config.ts";
import { initPolicy } from "../../rl/policy/init.ts";
import { tinyTokenizer } from "../../rollout/tiny-tokenizer.ts";
import { defaultVocabulary } from "../../rollout/vocabulary.ts";
import { runCli } from "../cli.ts";
import type { Extensions } from "../extensions.ts";
import type { Streams } from "../output.ts";

type Row = Readonly<Record<string, unknown>>;

/** A folder with a config, questions and a corpus that `forager train` takes as it stands. */
export interface Project {
  readonly dir: string;
  /** A path in it. */
  at(name: string): string;
  /** Writes a file: text as it is, rows as JSON Lines. */
  write(name: string, content: string | Uint8Array | readonly Row[]): string;
  /** Makes a Hugging Face folder of a tiny random model with our own vocabulary. */
  model(name: string, o?: { hidden?: number; seed?: number; words?: readonly string[] }): string;
  /** Runs a command line in this process. */
  forager(...words: string[]): Promise<{ code: number; stdout: string; stderr: string; events: Row[] }>;
  remove(): void;
}

const questions: readonly Row[] = [
  { id: "q1", question: "who wrote Dune", golden_answers: ["Frank Herbert"], supporting_ids: ["p1"] },
  { id: "q2", question: "who wrote Emma", golden_answers: ["Jane Austen"], supporting_ids: ["p2"] },
];
const corpus: readonly Row[] = [
  { id: "p1", title: "Dune", text: "Dune was written by Frank Herbert" },
  { id: "p2", title: "Emma", text: "Emma was written by Jane Austen" },
];

/** The config, smaller than any that learns: what is tested is what is said when something in it is wrong. */
const config = `run: { dir: RUN }
model: { tiny: { layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 96 } }
data: { train: { kind: jsonl, path: questions.jsonl } }
search: { corpus: corpus.jsonl }
env: { maxTurns: 2, turnTokens: 12, observationTokens: 24, topK: 1 }
rollout: { tasksPerStep: 2, groupSize: 2, maxRows: 4, prompt: { format: plain } }
rl: { steps: 1, slots: 256, filter: none }
eval: { benchmarks: [] }
`;

export function toyProject(extensions: Extensions = {}): Project {
  const dir = mkdtempSync(join(tmpdir(), "forager-project-"));
  const at = (name: string) => join(dir, name);
  const write: Project["write"] = (name, content) => {
    const text = Array.isArray(content) ? content.map((row) => `${JSON.stringify(row)}\n`).join("") : content;
    writeFileSync(at(name), text as string | Uint8Array);
    return at(name);
  };
  write("questions.jsonl", questions);
  write("corpus.jsonl", corpus);
  write("train.yaml", config.replace("RUN", JSON.stringify(at("run"))));
  return {
    dir,
    at,
    write,
    model(name, { hidden = 16, seed = 1, words = ["who", "wrote", "Dune", "?"] } = {}) {
      const vocabulary = defaultVocabulary(["<unk>", ...words]);
      const { vocabSize: size, eosIds, padId } = tinyTokenizer(vocabulary);
      const tiny = tinySchema.parse({ layers: 1, hidden, heads: 2, intermediate: 16, contextTokens: 96 });
      mkdirSync(at(name), { recursive: true });
      savePolicy(initPolicy(tinyModel(tiny, { size, eosIds, padId }), seed), at(name));
      write(join(name, "vocabulary.json"), JSON.stringify(vocabulary));
      return at(name);
    },
    async forager(...words) {
      const texts = { stdout: "", stderr: "" };
      const stream = (name: "stdout" | "stderr") =>
        new Writable({
          write(chunk, _encoding, done) {
            texts[name] += String(chunk).replaceAll(dir, "DIR");
            done();
          },
        });
      const streams = { stdout: stream("stdout"), stderr: stream("stderr") } as unknown as Streams;
      const code = await runCli(words, extensions, streams);
      const events = texts.stdout.split("\n").filter((line) => line.startsWith("{"));
      return { code, ...texts, events: events.map((line) => JSON.parse(line) as Row) };
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
