import type { Rng } from "../../core/rng.ts";
import type { Passage } from "../task.ts";
import {
  type EntityType,
  entityCounts,
  entityTypes,
  type Relation,
  relations,
  relationsFrom,
} from "./relations.ts";

/** 82 entities whose facts point only at each other. */
export interface Cluster {
  readonly entities: Readonly<Record<EntityType, readonly string[]>>;
  /** facts.get(entity)[relation] is the value. */
  readonly facts: ReadonlyMap<string, Readonly<Partial<Record<Relation, string>>>>;
  /** One page per entity: all its facts, in random order. */
  readonly passages: readonly Passage[];
}

/**
 * @param names exactly `clusterSize` unique names, [82]
 * @param pageId id of an entity's page
 */
export function makeCluster(
  names: readonly string[],
  draw: Rng,
  pageId: (entity: string) => string,
): Cluster {
  const left = [...names];
  const take = (type: EntityType) => left.splice(0, entityCounts[type]);
  const entities = {
    film: take("film"),
    person: take("person"),
    company: take("company"),
    city: take("city"),
    country: take("country"),
  };
  const facts = new Map<string, Partial<Record<Relation, string>>>();
  const passages: Passage[] = [];
  for (const type of entityTypes) {
    for (const entity of entities[type]) {
      const own: Partial<Record<Relation, string>> = {};
      for (const relation of relationsFrom[type]) {
        const values = entities[relations[relation].to];
        let value = draw.pick(values);
        while (value === entity) value = draw.pick(values);
        own[relation] = value;
      }
      facts.set(entity, own);
      // The order of the facts is drawn anew for each page, so a place in it tells nothing about the relation.
      const listed = draw.shuffle(relationsFrom[type]).map((relation) => `${relation} ${own[relation]} .`);
      passages.push({ id: pageId(entity), title: entity, text: `${entity} : ${listed.join(" ")}` });
    }
  }
  return { entities, facts, passages };
}
