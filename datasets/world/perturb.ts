import { InvariantError } from "../../core/errors.ts";
import type { Rng } from "../../core/rng.ts";
import type { Cluster } from "./cluster.ts";
import type { Chain } from "./question.ts";
import { type EntityType, entityTypes, type Relation, relations, relationsFrom } from "./relations.ts";

/**
 * A chain with one thing changed: where it starts, or one of its relations. The number of hops and the cluster stay,
 * so the split does too, and no page changes; like every drawn chain it has different relations and comes by no entity
 * twice.
 */
export function changeChain(draw: Rng, cluster: Cluster, chain: Chain): Chain {
  const type = entityTypes.find((each) => cluster.entities[each].includes(chain.start)) as EntityType;
  for (let tries = 0; tries < 1000; tries++) {
    const changed = draw() < 0.5 ? newStart(draw, cluster, chain, type) : newRelation(draw, chain, type);
    if (changed !== undefined && isDrawable(cluster, changed)) return changed;
  }
  throw new InvariantError({ what: "no other question comes of this one", got: chain.start });
}

function newStart(draw: Rng, { entities }: Cluster, chain: Chain, type: EntityType): Chain | undefined {
  const start = draw.pick(entities[type]);
  return start === chain.start ? undefined : { ...chain, start };
}

/** Another relation from the same kind of entity; before the last it has to lead to the same kind too. */
function newRelation(draw: Rng, { start, relations: along }: Chain, type: EntityType): Chain | undefined {
  const at = draw.int(along.length);
  const old = along[at] as Relation;
  const before = along[at - 1];
  const from = before === undefined ? type : relations[before].to;
  const last = at === along.length - 1;
  const others = relationsFrom[from].filter(
    (each) => each !== old && (last || relations[each].to === relations[old].to),
  );
  return others.length === 0 ? undefined : { start, relations: along.with(at, draw.pick(others)) };
}

function isDrawable({ facts }: Cluster, { start, relations: along }: Chain): boolean {
  const seen = [start];
  for (const relation of along) seen.push(facts.get(seen.at(-1) as string)?.[relation] as string);
  return new Set(along).size === along.length && new Set(seen).size === seen.length;
}
