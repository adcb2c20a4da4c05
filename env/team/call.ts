import type { EnvConfig } from "../config.ts";
import type { SearchTool } from "../search-tool.ts";
import { readTurn } from "../turn.ts";
import type { TeamCall } from "./account.ts";
import type { TeamConfig } from "./config.ts";
import { type Intent, intents, type Message, type Reading, readMessage } from "./message.ts";
import { type RoleName, roleNames, roles } from "./roles.ts";
import type { Workspace } from "./workspace.ts";

/** The conversation is as long as the model can read: nothing more can be said in it. */
export class ContextFull extends Error {}

export interface CallOptions {
  readonly task: string;
  readonly round: number;
  readonly role: RoleName;
  readonly workspace: Workspace;
  /** Intents that are legal now. */
  readonly allowed: readonly Intent[];
  /** What is new to the role. */
  readonly shown: string;
  /** Given to a role that may search. */
  readonly tool: SearchTool | undefined;
  readonly config: EnvConfig;
  readonly team: TeamConfig;
  /** The policy can read our corrections: a small vocabulary has no words for them. */
  readonly corrects: boolean;
  readonly signal: AbortSignal;
}

export interface Called {
  readonly message: Message | undefined;
  /** One, or two where the first text was answered. */
  readonly calls: readonly TeamCall[];
  readonly turns: number;
}

const noStop: readonly string[] = [];
const afterSearch: readonly string[] = ["</search>"];

/**
 * One call of a role: what is new to it, its searches, its message. A text that breaks the protocol is answered once.
 * @throws ContextFull
 */
export async function call(o: CallOptions): Promise<Called> {
  const { workspace, task, role, allowed, team } = o;
  const calls: TeamCall[] = [];
  let turns = 0;
  await workspace.show(o.shown);
  for (const attempt of [1, 2] as const) {
    const written = await write(o);
    turns += written.turns;
    const reading = readMessage(task, role, written.text, allowed);
    calls.push(callOf(o, attempt, written, reading));
    if ("message" in reading) return { message: reading.message, calls, turns };
    if (attempt === 1)
      await workspace.show(
        team.correction ?? (o.corrects ? correctionOf(role, reading.detail, allowed) : ""),
      );
  }
  return { message: undefined, calls, turns };
}

interface Written {
  readonly text: string;
  readonly tokens: number;
  readonly turns: number;
  readonly searches: number;
}

/** Turns of a role until one is no search, or until its turns are over. */
async function write({ workspace, tool, config, team, role, signal }: CallOptions): Promise<Written> {
  let tokens = 0;
  let turns = 0;
  let searches = 0;
  for (let acts = 1; ; acts++) {
    signal.throwIfAborted();
    const stop = tool ? afterSearch : noStop;
    const act = await workspace.act({ stop, maxTokens: config.turnTokens });
    if (act.tokens === 0 && act.finish === "context") throw new ContextFull();
    tokens += act.tokens;
    if (act.tokens > 0) turns++;
    const move = tool && act.finish === "stop" ? readTurn(act) : undefined;
    if (!tool || move?.kind !== "search" || acts >= team.callTurns)
      return { text: act.text, tokens, turns, searches };
    searches++;
    await workspace.show(await tool.search(move.query, role));
  }
}

function callOf(
  { round, role }: CallOptions,
  attempt: 1 | 2,
  { tokens, searches }: Written,
  reading: Reading,
): TeamCall {
  const made = { round, role, attempt, tokens, searches };
  if ("message" in reading) {
    const { intent, payload } = reading.message;
    return { ...made, intent, payload, clean: reading.clean };
  }
  const { violation, intent } = reading;
  return { ...made, violation, clean: false, ...(intent === undefined ? {} : { intent }) };
}

/** Every word of our corrections, to see whether a policy can read them. */
export const corrections: string = roleNames
  .map((role) => correctionOf(role, "there is no message", intents))
  .join(" ");

function correctionOf(role: RoleName, detail: string, allowed: readonly Intent[]): string {
  const legal = roles[role].intents
    .filter((intent) => allowed.includes(intent))
    .map((intent) => `<${intent}>`);
  return `\nThat was no message: ${detail}. Write one message (${legal.join(" or ")}) in the form you were given, and nothing else.\n`;
}
