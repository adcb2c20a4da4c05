import { type Block, scanTags } from "../env/tags.ts";

/** What else a well-formed episode must be. */
export interface FormatRules {
  /** Each turn is one `<think>` block and one action with white space alone around them (Search-R1's rule). */
  readonly thinkFirst?: boolean | undefined;
  /** Longest answer in words (R1-Searcher: 10). */
  readonly maxAnswerWords?: number | undefined;
}

/**
 * Did the policy keep the protocol? Every turn holds exactly one action, as the last thing in it: a search in all turns
 * but the last, an answer in the last; neither is empty; every tag is closed, no closing tag is left over, and none of
 * the environment's own tags (`<information>`) is written. Text and thoughts before the action are free.
 * @param turns texts of the policy's turns, in order
 */
export function isWellFormed(turns: readonly string[], rules: FormatRules = {}): boolean {
  return (
    turns.length > 0 &&
    turns.every((text, i) => isTurn(text, i === turns.length - 1 ? "answer" : "search", rules))
  );
}

const closers = ["</think>", "</search>", "</answer>"] as const;
const foreign = ["<information>", "</information>"] as const;

function isTurn(text: string, wanted: "search" | "answer", rules: FormatRules): boolean {
  const blocks = scanTags(text);
  if (foreign.some((tag) => text.includes(tag)) || blocks.some(({ closed }) => !closed)) return false;
  if (countClosers(text) !== blocks.length) return false;
  const thoughts: Block[] = [];
  let action: Block | undefined;
  for (const block of blocks) {
    if (block.insideThink) continue;
    if (block.tag === "think") thoughts.push(block);
    else if (action) return false;
    else action = block;
  }
  if (action?.tag !== wanted) return false;
  if (action.text.trim() === "" || text.slice(action.end).trim() !== "") return false;
  const { maxAnswerWords } = rules;
  if (wanted === "answer" && maxAnswerWords !== undefined && wordsIn(action.text) > maxAnswerWords)
    return false;
  const { start } = action;
  if (thoughts.some(({ end }) => end > start)) return false;
  return rules.thinkFirst !== true || isThoughtThrough(text, thoughts, action);
}

function countClosers(text: string): number {
  let n = 0;
  for (let at = text.indexOf("</"); at >= 0; at = text.indexOf("</", at + 2))
    if (closers.some((tag) => text.startsWith(tag, at))) n++;
  return n;
}

const wordsIn = (text: string) => text.split(/\s+/u).filter((word) => word !== "").length;

function isThoughtThrough(text: string, thoughts: readonly Block[], action: Block): boolean {
  const [thought] = thoughts;
  if (thought === undefined || thoughts.length > 1) return false;
  return text.slice(0, thought.start).trim() === "" && text.slice(thought.end, action.start).trim() === "";
}
