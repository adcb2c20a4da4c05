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

/** A block under way: its text and end are set when it ends. */
type Open = { -readonly [K in keyof Block]: Block[K] };

/** How many blocks are open since the innermost open think, one frame a think: a stray closing tag costs O(1). */
interface Frame {
  search: number;
  answer: number;
  /** That of the think around it; absent where no think is open. */
  readonly outer: Frame | undefined;
}

interface Scan {
  readonly text: string;
  /** In the order they open. */
  readonly blocks: Open[];
  /** Those that are open, the innermost last. */
  readonly stack: Open[];
  frame: Frame;
}

const tags: readonly Tag[] = ["think", "search", "answer"];
const none: readonly Block[] = [];
const [slash, greater] = [47, 62];

/**
 * Finds the blocks of one turn of policy text, in the order they open. Tags nest: a closing tag ends
 * the nearest open block of its name and cuts off, unclosed, whatever was opened since; one that matches
 * nothing is plain text. While a `<think>` is open, only blocks opened inside it can close.
 * Linear in the length of the text, whatever is in it. Tag names are exact and lower case.
 */
export function scanTags(text: string): readonly Block[] {
  let at = text.indexOf("<");
  if (at < 0) return none;
  const scan: Scan = { text, blocks: [], stack: [], frame: { search: 0, answer: 0, outer: undefined } };
  for (; at >= 0; at = text.indexOf("<", at + 1)) {
    const closing = text.charCodeAt(at + 1) === slash;
    const tag = tagAt(text, at + (closing ? 2 : 1));
    if (tag === undefined) continue;
    if (closing) close(scan, tag, at);
    else open(scan, tag, at);
  }
  while (scan.stack.length > 0) end(scan, text.length, false, text.length);
  return scan.blocks;
}

function open(scan: Scan, tag: Tag, start: number): void {
  const { blocks, stack, frame } = scan;
  const insideThink = frame.outer !== undefined;
  const block: Open = { tag, text: "", start, end: start, closed: false, insideThink };
  blocks.push(block);
  stack.push(block);
  if (tag === "think") scan.frame = { search: 0, answer: 0, outer: frame };
  else frame[tag]++;
}

function close(scan: Scan, tag: Tag, at: number): void {
  const { frame, stack } = scan;
  if (tag === "think" ? frame.outer === undefined : frame[tag] === 0) return;
  while (stack.at(-1)?.tag !== tag) end(scan, at, false, at);
  end(scan, at, true, at + tag.length + "</>".length);
}

/** Ends the innermost open block: its text ends at `to`, the block itself at `next`. */
function end(scan: Scan, to: number, closed: boolean, next: number): void {
  const block = scan.stack.pop() as Open;
  const { tag, start } = block;
  if (tag === "think") scan.frame = scan.frame.outer as Frame;
  else scan.frame[tag]--;
  block.text = scan.text.slice(start + tag.length + "<>".length, to);
  block.end = next;
  block.closed = closed;
}

/** The tag whose name, with ">" behind it, stands at `name`. */
function tagAt(text: string, name: number): Tag | undefined {
  for (const tag of tags)
    if (text.startsWith(tag, name) && text.charCodeAt(name + tag.length) === greater) return tag;
  return undefined;
}

/** The blocks that count as done: closed, and not inside `<think>`. */
export function doneBlocks(text: string, tag: Tag): readonly Block[] {
  return scanTags(text).filter((block) => block.tag === tag && block.closed && !block.insideThink);
}
