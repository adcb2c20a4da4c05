/** The tags a policy writes. `<information>` is the environment's own and never read from policy text. */
export type Tag = "think" | "search" | "answer";

/** One block of policy text, from its opening tag to its closing tag. */
export interface Block {
  readonly tag: Tag;
  /** What stands between the tags, untrimmed. */
  readonly text: string;
  /** Index of the opening "<". */
  readonly start: number;
  /** One past the closing ">"; for an unclosed block, where its parent or the text ends. */
  readonly end: number;
  readonly closed: boolean;
  /** True for every tag that stands in an open `<think>`: it is thought about, not done. */
  readonly insideThink: boolean;
}

interface Open {
  readonly tag: Tag;
  readonly start: number;
  readonly from: number;
  /** Place in the result, so that blocks come in the order they open. */
  readonly slot: number;
  readonly insideThink: boolean;
}

const tags: readonly Tag[] = ["think", "search", "answer"];
const none: readonly Block[] = [];

/**
 * Finds the blocks of one turn of policy text, in the order they open. Tags nest: a closing tag ends
 * the nearest open block of its name and cuts off, unclosed, whatever was opened since; one that matches
 * nothing is plain text. While a `<think>` is open, only blocks opened inside it can close.
 * Linear in the length of the text, whatever is in it. Tag names are exact and lower case.
 */
export function scanTags(text: string): readonly Block[] {
  let at = text.indexOf("<");
  if (at < 0) return none;
  const blocks: Block[] = [];
  const stack: Open[] = [];
  // Open blocks by name since the innermost open think, one frame per think: a stray closer costs O(1).
  const frames: Record<Tag, number>[] = [{ think: 0, search: 0, answer: 0 }];
  const pop = (end: number, closed: boolean, next: number) => {
    const open = stack.pop() as Open;
    if (open.tag === "think") frames.pop();
    (frames.at(-1) as Record<Tag, number>)[open.tag]--;
    const { tag, start, from, insideThink } = open;
    blocks[open.slot] = { tag, text: text.slice(from, end), start, end: next, closed, insideThink };
  };
  for (; at >= 0; at = text.indexOf("<", at + 1)) {
    const closing = text.charCodeAt(at + 1) === 47;
    const name = at + (closing ? 2 : 1);
    const tag = tags.find(
      (each) => text.startsWith(each, name) && text.charCodeAt(name + each.length) === 62,
    );
    if (tag === undefined) continue;
    const after = name + tag.length + 1;
    if (!closing) {
      stack.push({ tag, start: at, from: after, slot: blocks.length, insideThink: frames.length > 1 });
      blocks.push(pending);
      (frames.at(-1) as Record<Tag, number>)[tag]++;
      if (tag === "think") frames.push({ think: 0, search: 0, answer: 0 });
    } else if (tag === "think" ? frames.length > 1 : (frames.at(-1) as Record<Tag, number>)[tag] > 0) {
      while (stack.at(-1)?.tag !== tag) pop(at, false, at);
      pop(at, true, after);
    }
  }
  while (stack.length > 0) pop(text.length, false, text.length);
  return blocks;
}

/** Holds a block's place until it ends; none is left in the result. */
const pending: Block = { tag: "think", text: "", start: 0, end: 0, closed: false, insideThink: false };

/** The blocks that count as done: closed, and not inside `<think>`. */
export function doneBlocks(text: string, tag: Tag): readonly Block[] {
  return scanTags(text).filter((block) => block.tag === tag && block.closed && !block.insideThink);
}
