import fc from "fast-check";
import { expect, it } from "vitest";
import { rng } from "../../core/rng.ts";
import { makeWorld } from "../world.ts";
import { worldTasks } from "./tasks.ts";

const world = makeWorld({ seed: 6, clusters: 40 });
const tasks = (["train", "dev", "test"] as const).flatMap((split) =>
  worldTasks({ world, split, n: 90, seed: 1 }),
);
const pages = new Map(world.passages.map((page) => [page.id, page.text]));
const clusters = Array.from({ length: 40 }, (_, i) => world.cluster(i));
const clusterOf = (entity: string) => clusters.findIndex(({ facts }) => facts.has(entity));

it("law: a perturbed question differs in its start or in one relation, and its plan is what the pages say", () => {
  const changed = { start: 0, relation: 0 };
  fc.assert(
    fc.property(fc.constantFrom(...tasks), fc.nat(), ({ id, hops, question }, seed) => {
      const before = world.planned(id).plan.hops;
      const { task, plan } = world.perturb(id, rng(seed));
      expect(world.planned(task.id)).toEqual({ task, plan });
      expect(task.question).not.toBe(question);
      expect(task.hops).toBe(hops);
      expect(task.goldenAnswers).toEqual([plan.hops.at(-1)?.object]);
      const [from, to] = [before[0]?.subject as string, plan.hops[0]?.subject as string];
      const relations = plan.hops.filter(({ relation }, i) => relation !== before[i]?.relation).length;
      expect((from === to ? 0 : 1) + relations).toBe(1);
      expect(clusterOf(to)).toBe(clusterOf(from));
      if (from === to) changed.relation++;
      else changed.start++;
      for (const { passageId, relation, object } of plan.hops)
        expect(pages.get(passageId)).toContain(` ${relation} ${object} .`);
      const entities = [to, ...plan.hops.map(({ object }) => object)];
      expect(new Set(entities).size).toBe(entities.length);
      expect(new Set(plan.hops.map(({ relation }) => relation)).size).toBe(hops);
    }),
    { numRuns: 400, seed: 1 },
  );
  expect(Math.min(changed.start, changed.relation)).toBeGreaterThan(50);
});

it("refuses questions of another world", () => {
  expect(() => world.perturb("world-7/zoriba.director#0", rng(1))).toThrow("no such question in this world");
});
