import { rng } from "../../core/rng.ts";
import type { Passage } from "../../datasets/task.ts";

const relations = "director star studio birthplace employer spouse headquarters founder country mayor".split(
  " ",
);
const consonants = "bdfgklmnrstz";
const vowels = "aeio";

export interface ToyCorpus {
  readonly passages: readonly Passage[];
  /** Two-word queries, each a relation and an entity: "star zoriba". */
  readonly queries: readonly string[];
}

/**
 * A seeded corpus like the synthetic world's: one page per made-up entity with two or three facts. Each relation
 * is in about a quarter of the pages and the pages have few different lengths, so ties are the rule.
 */
export function toyCorpus(size: number, seed = 1): ToyCorpus {
  const draw = rng(seed, "toy-corpus");
  const names = new Set<string>();
  while (names.size < size)
    names.add(Array.from({ length: 3 }, () => draw.pick([...consonants]) + draw.pick([...vowels])).join(""));
  const entities = [...names];
  const passages = entities.map((title, i) => {
    const facts = draw.shuffle(relations).slice(0, 2 + draw.int(2));
    const text = `${title} : ${facts.map((relation) => `${relation} ${draw.pick(entities)}`).join(" . ")} .`;
    return { id: `p${i}`, title, text };
  });
  const queries = Array.from({ length: 200 }, () => `${draw.pick(relations)} ${draw.pick(entities)}`);
  return { passages, queries };
}
