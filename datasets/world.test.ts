import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../core/rng.ts";
import { nameCapacity, nameOf } from "./world/names.ts";
import { frameWords, phrase, phrasings } from "./world/phrasings.ts";
import { clusterSize, relationNames, relations } from "./world/relations.ts";
import { makeWorld, splitNames } from "./world.ts";

const world = makeWorld({ seed: 7, clusters: 40 });
const draws = (n: number, hops: number, from = world) => {
  const draw = rng(1, "test");
  return Array.from({ length: n }, () => from.question(draw, draw.int(40), hops));
};

describe("names", () => {
  it("has 48² + 48³ names less one that is a word", () => {
    expect(nameCapacity).toBe(112_895);
    expect([nameOf(0), nameOf(2303), nameOf(2304), nameOf(112_895)]).toEqual([
      "baba",
      "zozo",
      "bababa",
      "zozozo",
    ]);
  });

  it("are unique over the world, and none is a word", () => {
    const names = world.passages.map(({ title }) => title);
    expect(names).toHaveLength(40 * clusterSize);
    expect(new Set(names).size).toBe(names.length);
    const words = new Set<string>([...frameWords, ...relationNames]);
    expect(names.filter((name) => words.has(name) || !/^([bdfgklmnrstz][aeio]){2,3}$/.test(name))).toEqual(
      [],
    );
  });

  it("are all there is in the largest world", () => {
    const largest = makeWorld({ seed: 1, clusters: 1376 });
    const [from, to] = largest.splits.test;
    expect(to - from).toBe(68);
    expect(() => makeWorld({ seed: 1, clusters: 1377 })).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: clusters: the world has too few names: expected at most 112895 names, got 1377 clusters of 82 entities = 112914 names. Ask for at most 1376 clusters.]`,
    );
    expect(() => largest.freshClusters(0, 1)).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: fresh clusters: the world has too few names: expected at most 63 names, got 1 clusters of 82 entities = 82 names. Make the world itself smaller.]`,
    );
    expect(() => makeWorld({ seed: 1, clusters: 2 })).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: clusters: the world cannot be split: expected an integer of 3 or more: train, dev and test take one each at least, got 2. Ask for 3 clusters or more.]`,
    );
  });
});

describe("pages", () => {
  it("lists every fact of its entity once, values from its own cluster and of the right type", () => {
    for (const index of [0, 19, 39]) {
      const { entities, facts, passages } = world.cluster(index);
      for (const [relation, { from, to }] of Object.entries(relations)) {
        for (const entity of entities[from]) {
          const value = facts.get(entity)?.[relation as keyof typeof relations];
          expect(entities[to]).toContain(value);
          expect(value).not.toBe(entity);
          const page = passages.find(({ title }) => title === entity);
          expect(page?.text).toMatch(new RegExp(`^${entity} : .*\\b${relation} ${value} \\.`));
        }
      }
      const listed = passages.flatMap(({ text }) => text.match(/[a-z]+ [a-z]+ \./g) ?? []);
      expect(listed).toHaveLength(20 * 3 + 30 * 3 + 12 * 2 + 14 * 2 + 6 * 2);
    }
  });

  it("looks like this", () => {
    expect(world.passages[0]).toMatchInlineSnapshot(`
      {
        "id": "world-7/dizase",
        "text": "dizase : star binimi . studio rireno . director reroge .",
        "title": "dizase",
      }
    `);
    expect(world.passages[81]).toMatchInlineSnapshot(`
      {
        "id": "world-7/fimemo",
        "text": "fimemo : president fodaga . capital gifide .",
        "title": "fimemo",
      }
    `);
  });

  it("puts each relation at every place of its page equally often", () => {
    const large = makeWorld({ seed: 3, clusters: 400 });
    for (const relation of relationNames) {
      const { from } = relations[relation];
      const pages = large.passages.filter(({ text }) => text.includes(` ${relation} `));
      const facts = from === "film" || from === "person" ? 3 : 2;
      const places = new Array<number>(facts).fill(0);
      for (const { text } of pages) {
        const place = text
          .split(" : ")[1]
          ?.split(" . ")
          .findIndex((fact) => fact.startsWith(`${relation} `)) as number;
        places[place] = (places[place] as number) + 1;
      }
      const n = pages.length;
      const sigma = Math.sqrt((n / facts) * (1 - 1 / facts));
      for (const count of places) expect(Math.abs(count - n / facts)).toBeLessThan(4 * sigma);
    }
  });
});

describe("splits", () => {
  it("cuts clusters into ranges that cover the world and share no name, and no page names an entity of another split", () => {
    const words = splitNames.map((split) => {
      const [from, to] = world.splits[split];
      const clusters = Array.from({ length: to - from }, (_, i) => world.cluster(from + i));
      return new Set(clusters.flatMap(({ passages }) => passages.flatMap(({ text }) => text.split(" "))));
    });
    const isName = (word: string) => /^([bdfgklmnrstz][aeio]){2,3}$/.test(word);
    const [train, dev, test] = words.map((set) => [...set].filter(isName)) as [string[], string[], string[]];
    expect([train.length, dev.length, test.length]).toEqual([36 * 82, 2 * 82, 2 * 82]);
    expect(new Set([...train, ...dev, ...test]).size).toBe(40 * 82);
  });

  it("has the three splits in the smallest world too", () => {
    expect(makeWorld({ seed: 1, clusters: 3 }).splits).toEqual({
      train: [0, 1],
      dev: [1, 2],
      test: [2, 3],
    });
  });
});

describe("questions", () => {
  it("are answered by the plan's passages, hop by hop", () => {
    const text = new Map(world.passages.map((passage) => [passage.id, passage.text]));
    fc.assert(
      fc.property(fc.integer(), fc.nat(39), fc.constantFrom(1, 2, 3), (seed, cluster, hops) => {
        const { task, plan } = world.question(rng(seed, "q"), cluster, hops);
        expect(plan.hops).toHaveLength(hops);
        let at = plan.hops[0]?.subject;
        expect(task.question.split(" ")).toContain(at);
        for (const hop of [...plan.hops, ...plan.beyond]) {
          expect(hop.subject).toBe(at);
          expect(text.get(hop.passageId)).toContain(`${hop.subject} : `);
          expect(text.get(hop.passageId)).toContain(` ${hop.relation} ${hop.object} .`);
          at = hop.object;
        }
        expect(task.goldenAnswers).toEqual([plan.hops.at(-1)?.object]);
        expect(task.supportingIds).toEqual(plan.hops.map(({ passageId }) => passageId));
        expect(task.hops).toBe(hops);
        const entities = [plan.hops[0]?.subject, ...plan.hops.map(({ object }) => object)];
        expect(new Set(entities).size).toBe(hops + 1);
        expect(new Set(plan.hops.map(({ relation }) => relation)).size).toBe(hops);
        expect(world.planned(task.id)).toEqual({ task, plan });
      }),
    );
  });

  it("come in five phrasings, by their shares", () => {
    const texts = phrasings.map((_, i) => phrase(i, "zoriba", ["director", "spouse"]));
    expect(texts).toMatchInlineSnapshot(`
      [
        "what is the spouse of the director of zoriba ?",
        "who is the spouse of the director of zoriba ?",
        "name the spouse of the director of zoriba .",
        "what is zoriba 's director 's spouse ?",
        "tell me zoriba 's director 's spouse .",
      ]
    `);
    const phrasingOf = draws(4000, 2).map(({ task }) => Number(task.id.split("#")[1]));
    phrasings.forEach(({ share }, i) => {
      const seen = phrasingOf.filter((each) => each === i).length / 4000;
      expect(Math.abs(seen - share)).toBeLessThan(4 * Math.sqrt((share * (1 - share)) / 4000));
    });
  });

  it("have the answering fact at every place of its page equally often: copying from a place is chance", () => {
    const text = new Map(world.passages.map((passage) => [passage.id, passage.text]));
    for (const hops of [1, 2, 3]) {
      const places: Record<number, number[]> = { 2: [0, 0], 3: [0, 0, 0] };
      for (const { plan } of draws(3000, hops)) {
        const { passageId, relation } = plan.hops.at(-1) as (typeof plan.hops)[number];
        const facts = (text.get(passageId) ?? "").split(" . ");
        const place = facts.findIndex((fact) => fact.includes(`${relation} `));
        const row = places[facts.length] as number[];
        row[place] = (row[place] as number) + 1;
      }
      for (const row of Object.values(places)) {
        const n = row.reduce((sum, count) => sum + count, 0);
        // Pages repeat among 3,000 draws from 3,280 pages, hence the wider margin.
        const sigma = Math.sqrt((2 * n * (1 - 1 / row.length)) / row.length);
        for (const count of row) expect(Math.abs(count - n / row.length)).toBeLessThan(5 * sigma);
      }
    }
  });

  it("are written with the vocabulary alone", () => {
    const { special, words, syllables } = world.vocabulary;
    expect([special.length, words.length, syllables.length]).toEqual([12, 24, 48]);
    const texts = [...draws(300, 3).map(({ task }) => task.question), ...world.passages.map((p) => p.text)];
    const known = new Set([...words, ...syllables]);
    const unwritable = texts
      .flatMap((text) => text.split(" "))
      .filter((word) => !known.has(word) && !(word.match(/../g) ?? []).every((s) => known.has(s)));
    expect(unwritable).toEqual([]);
  });

  it("has one to three hops only, and knows its own ids only", () => {
    expect(() => world.question(rng(1), 0, 4)).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: no such number of hops: expected 1, 2 or 3, got 4.]`,
    );
    const { id } = draws(1, 1)[0]?.task ?? { id: "" };
    expect(() => world.planned(id.replace("world-7", "world-8"))).toThrow(/no such question/);
    const start = id.split("/")[1]?.split(".")[0];
    for (const bad of ["", "constructor#0", "director.director#0", "director#9", "#0"])
      expect(() => world.planned(`world-7/${start}.${bad}`)).toThrow(/no such question/);
    expect(() => world.planned("world-7/nobody.star#0")).toThrowErrorMatchingInlineSnapshot(
      `[DataError: world-7: no such question in this world: expected world-7/ENTITY.RELATION#PHRASING, with up to three relations, got world-7/nobody.star#0. Use the seed and the number of clusters that the question was made with.]`,
    );
  });
});

describe("determinism and fresh clusters", () => {
  it("is a function of its options", () => {
    expect(makeWorld({ seed: 7, clusters: 40 }).passages).toEqual(world.passages);
    expect(makeWorld({ seed: 8, clusters: 40 }).passages[0]?.text).not.toBe(world.passages[0]?.text);
    // A larger world starts with the same clusters.
    expect(makeWorld({ seed: 7, clusters: 41 }).cluster(3)).toEqual(world.cluster(3));
  });

  it("gives fresh clusters names that are nowhere in the world, none twice before all were used", () => {
    const used = new Set(world.passages.map(({ title }) => title));
    const perRound = Math.floor((nameCapacity - used.size) / (100 * clusterSize));
    expect(perRound).toBe(13);
    const fresh = Array.from({ length: perRound + 1 }, (_, i) => world.freshClusters(i, 100));
    const names = fresh.map(({ passages }) => passages.map(({ title }) => title));
    const firstRound = names.slice(0, perRound).flat();
    expect(new Set([...used, ...firstRound]).size).toBe(used.size + firstRound.length);
    expect(names[perRound]?.some((name) => used.has(name))).toBe(false);
    expect(world.freshClusters(5, 100).passages).toEqual(fresh[5]?.passages);
    expect(fresh[0]?.passages[0]?.id).toMatch(/^world-7-fresh-0\//);
  });

  it("builds 400 clusters in under a second", () => {
    const start = performance.now();
    const { passages } = makeWorld({ seed: 99, clusters: 400 });
    expect(passages).toHaveLength(32_800);
    expect(performance.now() - start).toBeLessThan(2000); // a second alone; twice that on a busy machine
  });
});
