import { ConfigError } from "../core/errors.ts";
import { type Rng, rng } from "../core/rng.ts";
import type { Passage } from "./task.ts";
import { type Cluster, makeCluster } from "./world/cluster.ts";
import { checkNames, nameCapacity, nameOf, nameOrder, permute, syllables } from "./world/names.ts";
import { changeChain } from "./world/perturb.ts";
import { drawPhrasing, frameWords } from "./world/phrasings.ts";
import type { Planned } from "./world/plan.ts";
import { drawChain, parseQuestionId, planQuestion } from "./world/question.ts";
import { clusterSize, relationNames } from "./world/relations.ts";

export const splitNames = ["train", "dev", "test"] as const;
export type Split = (typeof splitNames)[number];

export interface WorldOptions {
  readonly seed: number;
  /** Clusters of 82 entities. The last twentieth is for test, the one before for dev (one each at least). */
  readonly clusters: number;
}

/** A closed world of made-up entities: pages to search and questions about them. A pure function of its options. */
export interface World {
  /** Opens every id, e.g. "world-7". */
  readonly name: string;
  readonly seed: number;
  /** Clusters [from, to) of each split. No entity is in two of them. */
  readonly splits: Readonly<Record<Split, readonly [from: number, to: number]>>;
  /** The corpus: one page per entity, of every cluster. */
  readonly passages: readonly Passage[];
  /** What a tokenizer needs to write everything in this world. */
  readonly vocabulary: {
    readonly special: readonly string[];
    readonly words: readonly string[];
    readonly syllables: readonly string[];
  };
  cluster(index: number): Cluster;
  /** Draws a question of `hops` relations (1, 2 or 3) about a cluster. */
  question(draw: Rng, cluster: number, hops: number): Planned;
  /** Where a relation leads from an entity; undefined where the world has no such fact. */
  fact(entity: string, relation: string): string | undefined;
  /** The question with this id once more, with its plan. @throws DataError for an id of another world. */
  planned(taskId: string): Planned;
  /** Another question, with the start or one relation of this one changed: as many hops, in the same split. */
  perturb(taskId: string, draw: Rng): Planned;
  /**
   * Fresh world number `index`, for warm-ups: its names occur nowhere in this world, and a name comes back in
   * another fresh world only when all spare names are used up, and then with other facts. Its pages are its own.
   * @throws ConfigError when there are not enough spare names.
   */
  freshClusters(index: number, clusters: number): World;
  /** Clusters that the spare names suffice for: the largest fresh world. */
  readonly spareClusters: number;
}

const vocabulary: World["vocabulary"] = {
  special: [
    ...["<pad>", "<eos>"],
    ...["question", "search", "information", "answer", "think"].flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ],
  words: [...frameWords, ...relationNames].sort(),
  syllables,
};

/** @throws ConfigError for fewer than three clusters, or for more than there are names for. */
export function makeWorld({ seed, clusters }: WorldOptions): World {
  if (!Number.isInteger(clusters) || clusters < 3)
    throw new ConfigError({
      where: "clusters",
      what: "the world cannot be split",
      got: String(clusters),
      expected: "an integer of 3 or more: train, dev and test take one each at least",
      next: "Ask for 3 clusters or more.",
    });
  const wanted = clusters * clusterSize;
  checkNames(wanted, nameCapacity, clusters, "clusters");
  const order = nameOrder(seed);
  const spare = order.subarray(wanted);
  const held = Math.max(1, Math.floor(clusters / 20));
  const dev = clusters - 2 * held;
  return worldOf({
    name: `world-${seed}`,
    seed,
    names: order.subarray(0, wanted),
    splits: { train: [0, dev], dev: [dev, dev + held], test: [dev + held, clusters] },
    freshClusters: (index, count) => freshWorld(seed, spare, index, count),
    spareClusters: Math.floor(spare.length / clusterSize),
  });
}

function freshWorld(seed: number, spare: Int32Array, index: number, clusters: number): World {
  const wanted = clusters * clusterSize;
  checkNames(wanted, spare.length, clusters, "fresh clusters");
  const perRound = Math.floor(spare.length / wanted);
  const names = permute(spare.slice(), seed, "fresh names", Math.floor(index / perRound));
  const from = (index % perRound) * wanted;
  return worldOf({
    name: `world-${seed}-fresh-${index}`,
    seed,
    names: names.subarray(from, from + wanted),
    splits: { train: [0, clusters], dev: [clusters, clusters], test: [clusters, clusters] },
    freshClusters: (next, count) => freshWorld(seed, spare, next, count),
    spareClusters: Math.floor(spare.length / clusterSize),
  });
}

interface Ground extends Pick<World, "name" | "seed" | "splits" | "freshClusters" | "spareClusters"> {
  /** Indices of its names, [clusters × 82]. */
  readonly names: Int32Array;
}

function worldOf({ names, ...ground }: Ground): World {
  const { name, seed } = ground;
  const count = names.length / clusterSize;
  const pageId = (entity: string) => `${name}/${entity}`;
  const made: Cluster[] = [];
  let pages: Passage[] | undefined;
  let homes: Map<string, number> | undefined; // entity → cluster

  const cluster = (index: number): Cluster => {
    const own = names.subarray(index * clusterSize, (index + 1) * clusterSize);
    if (own.length !== clusterSize) throw new RangeError(`cluster ${index} of ${count}`);
    made[index] ??= makeCluster(Array.from(own, nameOf), rng(seed, name, "cluster", index), pageId);
    return made[index];
  };
  const clusterOf = (entity: string) => {
    homes ??= new Map(Array.from(names, (index, i) => [nameOf(index), Math.floor(i / clusterSize)]));
    const index = homes.get(entity);
    return index === undefined ? undefined : cluster(index);
  };

  return {
    ...ground,
    vocabulary,
    cluster,
    get passages() {
      pages ??= Array.from({ length: count }, (_, index) => cluster(index).passages).flat();
      return pages;
    },
    question(draw, index, hops) {
      const where = cluster(index);
      const chain = drawChain(draw, where, hops);
      return planQuestion({ name, seed, pageId }, where, chain, drawPhrasing(draw));
    },
    fact(entity, relation) {
      const own: Readonly<Record<string, string>> = clusterOf(entity)?.facts.get(entity) ?? {};
      return Object.hasOwn(own, relation) ? own[relation] : undefined;
    },
    planned(taskId) {
      const found = parseQuestionId(taskId, name, clusterOf);
      return planQuestion({ name, seed, pageId }, found.cluster, found.chain, found.phrasing);
    },
    perturb(taskId, draw) {
      const { cluster: where, chain, phrasing } = parseQuestionId(taskId, name, clusterOf);
      return planQuestion({ name, seed, pageId }, where, changeChain(draw, where, chain), phrasing);
    },
  };
}
