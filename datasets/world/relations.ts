/** Entities of one cluster by type: 82 in all. */
export const entityCounts = { film: 20, person: 30, company: 12, city: 14, country: 6 } as const;

export type EntityType = keyof typeof entityCounts;
export const entityTypes = Object.keys(entityCounts) as EntityType[];

/** Entities of one cluster, over all types. */
export const clusterSize: number = Object.values(entityCounts).reduce((sum, n) => sum + n, 0);

/** The 12 relations. Each is a function: every entity of type `from` has exactly one value of type `to`. */
export const relations = {
  director: { from: "film", to: "person" },
  star: { from: "film", to: "person" },
  studio: { from: "film", to: "company" },
  birthplace: { from: "person", to: "city" },
  employer: { from: "person", to: "company" },
  spouse: { from: "person", to: "person" },
  headquarters: { from: "company", to: "city" },
  founder: { from: "company", to: "person" },
  country: { from: "city", to: "country" },
  mayor: { from: "city", to: "person" },
  capital: { from: "country", to: "city" },
  president: { from: "country", to: "person" },
} as const satisfies Record<string, { from: EntityType; to: EntityType }>;

export type Relation = keyof typeof relations;
export const relationNames = Object.keys(relations) as Relation[];

const from = (type: EntityType) => relationNames.filter((name) => relations[name].from === type);

/** Relations that entities of each type have: two or three. */
export const relationsFrom: Readonly<Record<EntityType, readonly Relation[]>> = {
  film: from("film"),
  person: from("person"),
  company: from("company"),
  city: from("city"),
  country: from("country"),
};
