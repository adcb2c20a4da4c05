import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadAblation } from "../configs/load-ablation.ts";
import { loadConfig } from "../configs/load-config.ts";
import { packageRoot } from "../core/package-root.ts";
import { openFamily } from "../datasets/families/families.ts";
import { rollEpisode } from "../rollout/episode.ts";
import { piecesOf } from "../rollout/vocabulary.ts";
import { warmUpKey } from "./ablation-keys.ts";
import { generatedOf, openResources } from "./answering.ts";
import { scriptedExperts } from "./demonstrations.ts";
import { openInputs } from "./inputs.ts";
import { openSetup, type Setup } from "./setup.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** A team on generated tasks, smaller than any that learns. */
const yaml = (family: string, model: string) => `run: { dir: run, seed: 3 }
model: ${model}
data: { train: { kind: family, family: ${family}, difficulty: [1, 2], sentences: 12 } }
search: { engine: memory }
env: { name: team, turnTokens: 96, topK: 1, observationTokens: 128, observationOpen: <information>, observationClose: </information>, noResults: "", correction: "", passageFormat: plain }
reward: { preset: team }
rollout: { tasksPerStep: 2, groupSize: 2, maxRows: 4, prompt: { format: plain, template: "<question> {question} </question>" } }
sft: { steps: 2, slots: 512, source: { kind: experts, habits: careful, vary: true } }
rl: { steps: 1, slots: 512, filter: none }
eval: { modes: [greedy], benchmarks: [{ name: dev, source: { kind: family, family: ${family}, difficulty: [1], sentences: 12, split: dev, n: 4 } }] }
`;
const tiny = "{ tiny: { layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 512 } }";
const families = ["arithmetic", "debugging", "synthesis"] as const;
const output = { print() {}, line() {}, warn() {}, event() {}, result() {} } as never;
const { signal } = new AbortController();

let project: Project;
beforeAll(() => {
  project = toyProject();
  for (const family of families) project.write(`${family}.yaml`, yaml(family, tiny));
});
afterAll(() => project.remove());

const configOf = (family: string, ...overrides: string[]) =>
  loadConfig(project.at(`${family}.yaml`), overrides).config;
async function opened<T>(config: ReturnType<typeof configOf>, use: (setup: Setup) => Promise<T>): Promise<T> {
  const setup = await openSetup(config, { output, signal });
  try {
    return await use(setup);
  } finally {
    await setup.close();
  }
}
const stage = { hopMix: { 1: 1, 2: 0, 3: 0 }, steps: 2 };

describe.each(families)("%s", (family) => {
  test("is shown to the team: training tasks of its levels, in every make-up, the same by the same index", () =>
    opened(configOf(family), async (setup) => {
      const show = await scriptedExperts(setup, { ...stage, habits: "careful", vary: true });
      const shown = await Promise.all(Array.from({ length: 12 }, (_, i) => show(i)));
      expect(new Set(shown.map((each) => each?.task.hops))).toEqual(new Set([1, 2]));
      expect(shown.every((each) => each?.task.id.startsWith(`${family}-1/train/`))).toBe(true);
      expect(new Set(shown.map((each) => each?.task.id)).size).toBe(12);
      const seats = new Set(shown.map((each) => each?.sequences.map(({ seat }) => seat).join(" ")));
      expect(seats.size).toBeGreaterThan(2);
      const right = shown.filter((each) =>
        each?.task.goldenAnswers.includes(each.ending?.team?.answer ?? ""),
      );
      expect(right.length).toBeGreaterThanOrEqual(7);
      expect((await show(5))?.sequences).toEqual(shown[5]?.sequences);
    }));

  test("is shown to one policy, which searches, thinks and answers", () =>
    opened(configOf(family, "env.name=researcher", "reward.preset=dmi"), async (setup) => {
      const share = async (habits: string) => {
        const show = await scriptedExperts(setup, { ...stage, habits });
        const shown = await Promise.all(Array.from({ length: 10 }, (_, i) => show(i)));
        const answers = shown.map((each) => {
          const text = each?.sequences[0]?.segments.map((segment) => segment.text).join(" ") ?? "";
          const said = /<answer> (.*?) <\/answer>/.exec(text)?.[1] ?? "";
          return { id: each?.task.id, right: each?.task.goldenAnswers.includes(said) };
        });
        return answers.filter(({ right }) => right).length;
      };
      expect(await share("clean")).toBe(10);
      expect(await share("hasty")).toBeLessThan(10);
    }));

  test("is answered rightly by the team's demonstrators in the policy's place", () => {
    const roles = ["planner", "analyst", "drafter", "verifier", "summarizer"];
    const scripted = roles.map((role) => `env.team.roles.${role}.player={ kind: expert }`);
    return opened(configOf(family, ...scripted), async ({ source, ...setup }) => {
      for (const task of source.batch(0, 3)) {
        const played = await rollEpisode({
          ...{ ...setup, ...setup.episodes, task, member: 0, seed: 1, step: 0 },
          sampler: {
            contextTokens: 512,
            sample: () => Promise.reject(new Error("the policy")),
            release() {},
          },
          decoding: { temperature: 1, topP: 1, topK: 0 },
        });
        expect(played).toMatchObject({ outcome: "answered", ending: { team: { rounds: 1 } } });
        expect(task.goldenAnswers).toContain(played.ending?.team?.answer);
      }
    });
  });
});

test("a folder's own small vocabulary grows by the family's words and the team's tags, its rows kept", async () => {
  const model = project.model("small");
  project.write("grown.yaml", yaml("arithmetic", `{ path: ${model}, training: full, contextTokens: 512 }`));
  const { start, vocabulary, tokenizer } = await openInputs(
    loadConfig(project.at("grown.yaml")).config,
    output,
  );
  const pieces = piecesOf(vocabulary!);
  expect(pieces).toEqual(expect.arrayContaining(["Dune", "<unk>", "<verify>", "shells", "99"]));
  expect(start.config.vocabSize).toBe(tokenizer.vocabSize);
  const named = openFamily("arithmetic", 1);
  const { task } = named.family.task({ split: "test", level: 2, index: 0 });
  expect(tokenizer.encode(task.question)).not.toContain(pieces.indexOf("<unk>"));
});

test("gold passages of a synthesis question, drawn while the run trains, are its places' own", () =>
  opened(configOf("synthesis"), async (setup) => {
    const generated = generatedOf(setup);
    const parts = {
      engine: setup.retriever,
      makeEnvironment: setup.makeEnvironment,
      generated,
      questions: [],
    };
    const { gold, pool } = await openResources(setup.config, parts, "both");
    const [task] = setup.source.batch(0, 1);
    const pages = gold({ id: task!.id, question: task!.question });
    expect(pages?.map(({ id }) => id)).toEqual(task?.supportingIds);
    expect(pages?.every(({ title }) => task?.question.includes(title))).toBe(true);
    expect(pool).toHaveLength(320);
  }));

test("runs: a warm-up, a step and an evaluation", async () => {
  const dir = project.at("trained");
  const ran = await project.forager(
    "train",
    join(project.dir, "synthesis.yaml"),
    `run.dir=${dir}`,
    ...["env.turnTokens=24", "env.team.maxRounds=1", "--json", "--quiet"],
  );
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
});

test("ablations/families.yaml: four kinds of tasks, of each three cells from one warm-up, 200 held-out tasks and more", () => {
  const { cells } = loadAblation(join(packageRoot(), "configs/ablations/families.yaml"));
  const kinds = new Map<string, string[]>();
  for (const { name, loaded } of cells) {
    const key = warmUpKey(loaded.config);
    kinds.set(key, [...(kinds.get(key) ?? []), name]);
    const source = loaded.config.eval.benchmarks[0]?.source;
    expect(source).toMatchObject({ split: "test" });
    expect(source && "n" in source && source.n).toBeGreaterThanOrEqual(200);
  }
  expect([...kinds.values()]).toEqual(
    ["search", ...families].map((kind) => ["team-rl", "team", "pipeline"].map((cell) => `${kind}-${cell}`)),
  );
});
