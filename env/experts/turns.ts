import { InvariantError } from "../../core/errors.ts";
import type { Rng } from "../../core/rng.ts";
import type { Hop, Plan } from "../../datasets/world/plan.ts";
import type { Act, Seat } from "../environment.ts";
import { drawIntent, type Habits, type Intent } from "./habits.ts";

/**
 * The turns of a demonstrator that knows the plan: one search a hop, and before each next action the found fact
 * quoted in `<think>`, relation first. That quote is what made small policies learn to read.
 * Every turn but the last ends in `</search>`; the last ends the text.
 */
export function expertTurns(plan: Plan, habits: Habits, draw: Rng): readonly string[] {
  const intent = drawIntent(habits, plan.hops.length, draw);
  const hops = [...plan.hops, ...plan.beyond].slice(0, intent.searches);
  if (hops.length < intent.searches)
    throw new InvariantError({
      what: "the plan is shorter than its demonstrator",
      got: `${hops.length} facts`,
      expected: `${intent.searches} facts`,
    });
  const turns = hops.map(
    (hop, i) => `${quote(hops, i - 1, intent)}<search> ${queryOf(hop, i, plan, intent)} </search>`,
  );
  const before = hops.at(-1)?.subject;
  const found = hops.at(-1)?.object ?? (plan.hops[0] as Hop).subject;
  const last = `${quote(hops, hops.length - 1, intent)}${answerTags(intent.answers, found, before ?? found)}`;
  return [...turns, last.trimEnd()];
}

function quote(hops: readonly Hop[], index: number, { badSearch }: Intent): string {
  const hop = hops[index];
  return hop === undefined || index === badSearch ? "" : `<think> ${hop.relation} ${hop.object} </think> `;
}

/** A bad query leaves the relation out, or asks for one that another part of the question is about. */
function queryOf({ relation, subject }: Hop, index: number, { hops }: Plan, intent: Intent): string {
  if (index !== intent.badSearch) return `${relation} ${subject}`;
  if (intent.badKind < 0.5) return subject;
  const other = hops[Math.floor((intent.badKind - 0.5) * 2 * hops.length)] as Hop;
  return `${other.relation} ${subject}`;
}

/** The answer tags of a last turn. @param before what a demonstrator of two minds answers beside `found` */
export function answerTags(answers: Intent["answers"], found: string, before: string): string {
  const tag = (text: string) => `<answer> ${text} </answer>`;
  const rows: Record<Intent["answers"], string> = {
    one: tag(found),
    two: `${tag(found)} ${tag(before)}`,
    "two, the found one last": `${tag(before)} ${tag(found)}`,
    none: "",
  };
  return rows[answers];
}

/** Tokens of a text, for the seat's account. */
export type CountTokens = (text: string) => number;
export const countWords: CountTokens = (text) => text.split(/\s+/u).filter((word) => word !== "").length;

/** A turn as a sampler would give it back: after a search it stopped, else it sampled the end of text. */
export function said(text: string, count: CountTokens): Act {
  return text.endsWith("</search>")
    ? { text, finish: "stop", tokens: count(text) }
    : { text, finish: "eos", tokens: count(text) + 1 };
}

/**
 * A seat that says the turns one after the other, whatever it observes. When they are all said it has nothing
 * more to say: an empty text that ends.
 */
export function turnsSeat(turns: readonly string[], count: CountTokens = countWords): Seat {
  let next = 0;
  return {
    async observe(text) {
      return { tokens: count(typeof text === "string" ? text : text.open + text.body + text.close), cut: 0 };
    },
    async act() {
      return said(turns[next++] ?? "", count);
    },
  };
}

/** The demonstrator in the policy's seat. */
export function expertSeat(plan: Plan, habits: Habits, draw: Rng, count?: CountTokens): Seat {
  return turnsSeat(expertTurns(plan, habits, draw), count);
}
