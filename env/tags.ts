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
  const scan: Scan = { text, blocks, stack, frames };
  for (; at >= 0; at = text.indexOf("<", at + 1)) {
    const closing = text.charCodeAt(at + 1) === 47;
    const name = at + (closing ? 2 : 1);
    const tag = tagAt(text, name);
    if (tag === undefined) continue;
    const after = name + tag.length + 1;
    if (!closing) {
      stack.push({ tag, start: at, from: after, slot: blocks.length, insideThink: frames.length > 1 });
      blocks.push(pending);
      (frames.at(-1) as Record<Tag, number>)[tag]++;
      if (tag === "think") frames.push({ think: 0, search: 0, answer: 0 });
    } else if (tag === "think" ? frames.length > 1 : (frames.at(-1) as Record<Tag, number>)[tag] > 0) {
      while (stack.at(-1)?.tag !== tag) end(scan, at, false, at);
      end(scan, at, true, after);
    }
  }
  while (stack.length > 0) end(scan, text.length, false, text.length);
  return blocks;
}

interface Scan {
  readonly text: string;
  readonly blocks: Block[];
  readonly stack: Open[];
  readonly frames: Record<Tag, number>[];
}

/** Ends the innermost open block: its text ends at `to`, the block itself at `next`. */
function end({ text, blocks, stack, frames }: Scan, to: number, closed: boolean, next: number): void {
  const { tag, start, from, slot, insideThink } = stack.pop() as Open;
  if (tag === "think") frames.pop();
  (frames.at(-1) as Record<Tag, number>)[tag]--;
  blocks[slot] = { tag, text: text.slice(from, to), start, end: next, closed, insideThink };
}

/** The tag whose name, with ">" behind it, stands at `name`. */
function tagAt(text: string, name: number): Tag | undefined {
  for (const tag of tags)
    if (text.startsWith(tag, name) && text.charCodeAt(name + tag.length) === 62) return tag;
  return undefined;
}

/** Holds a block's place until it ends; none is left in the result. */
const pending: Block = { tag: "think", text: "", start: 0, end: 0, closed: false, insideThink: false };

/** The blocks that count as done: closed, and not inside `<think>`. */
export function doneBlocks(text: string, tag: Tag): readonly Block[] {
  return scanTags(text).filter((block) => block.tag === tag && block.closed && !block.insideThink);
}
