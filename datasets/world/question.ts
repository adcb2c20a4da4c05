import { ConfigError, DataError } from "../../core/errors.ts";
import { type Rng, rng } from "../../core/rng.ts";
import type { Cluster } from "./cluster.ts";
import { phrase, phrasings } from "./phrasings.ts";
import type { Hop, Plan, Planned } from "./plan.ts";
import { type EntityType, type Relation, relations, relationsFrom } from "./relations.ts";

/** Where a question starts, and the relations to follow from there. */
export interface Chain {
  readonly start: string;
  readonly relations: readonly Relation[];
}

/** Types a question starts from; films, which the longest chains need, twice as often. */
const startTypes: readonly EntityType[] = ["film", "film", "person", "company", "city", "country"];

/** A chain of `hops` different relations that comes by no entity twice. @throws ConfigError unless hops is 1, 2 or 3. */
export function drawChain(draw: Rng, { entities, facts }: Cluster, hops: number): Chain {
  if (hops !== 1 && hops !== 2 && hops !== 3)
    throw new ConfigError({ what: "no such number of hops", got: String(hops), expected: "1, 2 or 3" });
  for (;;) {
    let type = draw.pick(startTypes);
    const path = [draw.pick(entities[type])];
    const chain: Relation[] = [];
    while (chain.length < hops) {
      const relation = draw.pick(relationsFrom[type]);
      const value = facts.get(path.at(-1) as string)?.[relation] as string;
      if (chain.includes(relation) || path.includes(value)) break;
      chain.push(relation);
      path.push(value);
      type = relations[relation].to;
    }
    if (chain.length === hops) return { start: path[0] as string, relations: chain };
  }
}

/** Id of a question within its world: "zoriba.director.spouse#0". What it asks and in which words is all in it. */
export const questionKey = (chain: Chain, phrasing: number): string =>
  `${[chain.start, ...chain.relations].join(".")}#${phrasing}`;

/** The task and plan of one question; a pure function of its arguments. */
export function planQuestion(
  world: { readonly name: string; readonly seed: number; pageId(entity: string): string },
  { facts }: Cluster,
  chain: Chain,
  phrasing: number,
): Planned {
  const follow = (subject: string, relation: Relation): Hop => {
    const object = facts.get(subject)?.[relation] as string;
    return { subject, relation, object, passageId: world.pageId(subject) };
  };
  const hops: Hop[] = [];
  for (const relation of chain.relations) hops.push(follow(hops.at(-1)?.object ?? chain.start, relation));
  const answer = (hops.at(-1) as Hop).object;
  const id = `${world.name}/${questionKey(chain, phrasing)}`;
  const draw = rng(world.seed, "beyond", id);
  const onward = (subject: string) =>
    follow(subject, draw.pick(Object.keys(facts.get(subject) ?? {}) as Relation[]));
  const first = onward(answer);
  const plan: Plan = { hops, beyond: [first, onward(first.object)] };
  const task = {
    id,
    question: phrase(phrasing, chain.start, chain.relations),
    goldenAnswers: [answer],
    dataset: "world",
    hops: hops.length,
    supportingIds: hops.map((hop) => hop.passageId),
  };
  return { task, plan };
}

/** Reads a question's id back. @throws DataError when no such question can be asked in the world. */
export function parseQuestionId(
  id: string,
  world: string,
  clusterOf: (entity: string) => Cluster | undefined,
): { cluster: Cluster; chain: Chain; phrasing: number } {
  const key = id.startsWith(`${world}/`) ? id.slice(world.length + 1) : "";
  const [, start = "", along = "", phrasing = ""] = /^([a-z]+)\.([a-z.]+)#(\d)$/.exec(key) ?? [];
  const cluster = clusterOf(start);
  const chain = along.split(".");
  if (cluster === undefined || !isChain(cluster, start, chain) || Number(phrasing) >= phrasings.length)
    throw new DataError({
      what: "no such question in this world",
      where: world,
      got: id,
      expected: `${world}/ENTITY.RELATION#PHRASING, with up to three relations`,
      next: "Use the seed and the number of clusters that the question was made with.",
    });
  return { cluster, chain: { start, relations: chain }, phrasing: Number(phrasing) };
}

function isChain({ facts }: Cluster, start: string, chain: readonly string[]): chain is Relation[] {
  let at: string | undefined = start;
  for (const relation of chain) {
    const own: Readonly<Record<string, string>> = facts.get(at ?? "") ?? {};
    at = Object.hasOwn(own, relation) ? own[relation] : undefined;
  }
  return at !== undefined && chain.length <= 3;
}
