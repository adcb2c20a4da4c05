import { rng } from "../../../core/rng.ts";
import type { Passage } from "../../task.ts";
import { nameOf, nameOrder } from "../../world/names.ts";
import { type Split, splitNames } from "../../world.ts";

/** Things that places have, 1 to 24 of each. */
export const things = ["lamps", "wells", "mills", "boats", "towers", "bridges"] as const;
export type Thing = (typeof things)[number];

export interface Place {
  readonly name: string;
  readonly split: Split;
  readonly has: Readonly<Record<Thing, number>>;
  /** What it had in the old days, never the same number: in the passage too, and no answer to anything. */
  readonly had: Readonly<Record<Thing, number>>;
  readonly passage: Passage;
}

/** Places of each split: no place is in two of them. */
const placeCounts: Readonly<Record<Split, number>> = { train: 240, dev: 40, test: 40 };

const nowWordings = [
  "there are {n} {thing} in {place}",
  "{place} has {n} {thing}",
  "{place} is proud of its {n} {thing}",
];
const oldWordings = ["in the old days there were {n} {thing}", "long ago {place} had {n} {thing}"];
/** Sentences that say nothing that is asked. */
const fillers = [
  "{place} is a town by the sea",
  "the road to {place} is long and quiet",
  "many people come to {place} in summer",
  "the wind is strong in winter",
  "the people of {place} like to sing",
  "on the hill there is an old school",
  "the market is open in the morning",
  "children play by the river",
  "a small train comes twice in the morning",
  "the sea is cold and the sky is wide",
  "nobody knows how old {place} is",
  "travellers like the bread of {place}",
];

/** Words of passages, names and numbers aside. */
export const passageWords: readonly string[] = [
  ...[...nowWordings, ...oldWordings, ...fillers].flatMap((wording) =>
    wording
      .replace(/\{\w+\}/g, "")
      .split(" ")
      .filter((word) => word !== ""),
  ),
  ...things,
];

/** Words that are made of a name's syllables, as "like" is. */
const taken = new Set(passageWords);

/** @param sentences in each passage; 12 of them are facts, the rest say nothing that is asked */
export function makePlaces(seed: number, sentences: number): Place[] {
  const names = Array.from(nameOrder(seed).subarray(0, 400), nameOf).filter((name) => !taken.has(name));
  const splits = splitNames.flatMap((split) => Array<Split>(placeCounts[split]).fill(split));
  return splits.map((split, i) => {
    const name = names[i] as string;
    const draw = rng(seed, "synthesis place", name);
    const numbers = things.map((thing) => {
      const now = 1 + draw.int(24);
      return { thing, now, before: 1 + ((now + draw.int(23)) % 24) };
    });
    const say = (wording: string, thing = "", n = 0) =>
      wording.replace("{place}", name).replace("{thing}", thing).replace("{n}", String(n));
    const facts = numbers.flatMap(({ thing, now, before }) => [
      say(draw.pick(nowWordings), thing, now),
      say(draw.pick(oldWordings), thing, before),
    ]);
    const filling = Array.from({ length: Math.ceil(sentences / fillers.length) }, () =>
      draw.shuffle(fillers),
    ).flat();
    const rest = filling.slice(0, Math.max(0, sentences - facts.length)).map((filler) => say(filler));
    const text = `${name} : ${draw.shuffle([...facts, ...rest]).join(" . ")} .`;
    const by = (key: "now" | "before") =>
      Object.fromEntries(numbers.map((row) => [row.thing, row[key]])) as Record<Thing, number>;
    return {
      ...{ name, split, has: by("now"), had: by("before") },
      passage: { id: `synthesis-${seed}/${name}`, title: name, text },
    };
  });
}
