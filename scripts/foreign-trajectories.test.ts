import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";

/**
 * Opt-in: FORAGER_TRAJECTORIES names a folder with the published files of R1-Searcher (evaluation results), FireAct
 * (training data) and WebDancer (sample trajectories), gzipped.
 */
const folder = process.env.FORAGER_TRAJECTORIES;
const file = (part: string) =>
  folder ? join(folder, readdirSync(folder).find((name) => name.includes(part)) ?? part) : "";

describe.skipIf(!folder)("other projects' trajectories (FORAGER_TRAJECTORIES)", () => {
  let project: Project;
  beforeAll(() => {
    project = toyProject();
  });
  afterAll(() => project.remove());

  test.each([
    ["r1searcher_hotpotqa_qwen", 288],
    ["r1searcher_2wiki_qwen", 277],
  ])("%s: %i of 500 are right under squad", async (part, right) => {
    const { events } = await project.forager("score", file(part), "--format", "r1-searcher", "--json");
    expect(events.at(-1)).toMatchObject({ event: "result", n: 500, em: right / 500, normalizer: "squad@1" });
  });

  test.each(["r1searcher_2wiki_qwen", "fireact_sft", "webdancer"])(
    "forager sft trains on %s",
    async (part) => {
      const { code, events, stderr } = await project.forager(
        ...["sft", project.at("train.yaml"), `run.dir=${project.at(part)}`, "sft.steps=3", "sft.slots=4096"],
        "model={ tiny: { layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 4096 } }",
        ...[`sft.source={ kind: trajectories, path: ${file(part)} }`, "--json"],
      );
      expect(code, stderr).toBe(0);
      expect(events.filter(({ event }) => event === "step")).toHaveLength(3);
    },
  );
});
