import type { Act } from "./environment.ts";
import { scanTags } from "./tags.ts";

/** Why an action could not be carried out. */
export type InvalidCause =
  | "emptyQuery"
  | "insideThink"
  | "unclosedSearch"
  | "unclosedAnswer"
  | "strayTag"
  | "noAction";

/** What the policy did in one turn. */
export type Move =
  | { readonly kind: "answer" }
  | { readonly kind: "search"; readonly query: string }
  /** Cut by a token limit before any action was complete. */
  | { readonly kind: "cut" }
  /** Ended its text without trying to act. */
  | { readonly kind: "nothing" }
  | { readonly kind: "invalid"; readonly cause: InvalidCause };

/**
 * Reads one turn. A done answer wins over everything else in the turn: nothing after it is carried out,
 * and a token limit behind it changes nothing. Then the first done search with a query. Tags inside
 * `<think>` are thought about, not done.
 */
export function readTurn({ text, finish }: Act): Move {
  const blocks = scanTags(text).filter((block) => block.tag !== "think");
  const done = blocks.filter((block) => block.closed && !block.insideThink);
  if (done.some((block) => block.tag === "answer")) return { kind: "answer" };
  for (const block of done) {
    const query = block.text.trim();
    if (query !== "") return { kind: "search", query };
  }
  if (finish === "length" || finish === "context") return { kind: "cut" };
  if (done.length > 0) return { kind: "invalid", cause: "emptyQuery" };
  const last = blocks.at(-1);
  if (last === undefined)
    return finish === "stop" ? { kind: "invalid", cause: "strayTag" } : { kind: "nothing" };
  if (last.insideThink) return { kind: "invalid", cause: "insideThink" };
  return { kind: "invalid", cause: last.tag === "answer" ? "unclosedAnswer" : "unclosedSearch" };
}

const help = "To search, write <search> query </search>. To answer, write <answer> answer </answer>.";

/** What the policy is told, by cause. Short: every word of it fills the context. */
export const corrections: Readonly<Record<InvalidCause, string>> = {
  emptyQuery: `\nThe search was empty. ${help}\n`,
  insideThink: `\nA tag inside <think> is not carried out; close </think> first. ${help}\n`,
  unclosedSearch: `\nThe search was not closed with </search>. ${help}\n`,
  unclosedAnswer: `\nThe answer was not closed with </answer>. ${help}\n`,
  strayTag: `\nThere was a closing tag without its opening tag. ${help}\n`,
  noAction: `\nThere was no action. ${help}\n`,
};
