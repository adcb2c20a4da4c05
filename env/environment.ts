import type { Question } from "../datasets/task.ts";
import type { TeamAccount } from "./team/account.ts";

/** Text that must fit a token budget: the body is cut, the frame around it never is. */
export interface Observation {
  readonly open: string;
  readonly body: string;
  readonly close: string;
  /** Budget in tokens for open + body + close. */
  readonly maxTokens: number;
}

export interface ActOptions {
  /** Stop strings, e.g. ["</search>"]. The stop string itself is part of the text that comes back. */
  readonly stop: readonly string[];
  /** Most tokens of this turn. */
  readonly maxTokens: number;
}

/** Why a turn ended: a stop string, end of text, its own token limit, or the context is full. */
export type Finish = "stop" | "eos" | "length" | "context";

export interface Act {
  /** The policy's text of this turn, stop string included, end-of-text token not. */
  readonly text: string;
  readonly finish: Finish;
  /** Tokens sampled in this turn. */
  readonly tokens: number;
}

/** One role's conversation with the policy. Text in, text out: a scripted list or a person can sit here too. */
export interface Seat {
  /**
   * Appends text that is never trained on: a tool's as an Observation, the environment's own words as a string.
   * Resolves to how many tokens were added and how many cut.
   */
  observe(text: string | Observation): Promise<{ tokens: number; cut: number }>;
  act(options: ActOptions): Promise<Act>;
  /**
   * Begins the conversation anew: the seat's prompt, then `text`, never trained on. What was said before stays in the
   * record as a sequence of its own. A seat that has no memory to clear may leave it out.
   */
  restart?(text: string): Promise<{ tokens: number; cut: number }>;
}

/** What opens a seat's conversation in place of the config's own prompt. {question} is replaced. */
export interface SeatPrompt {
  /** Whole prompt of the plain format. */
  readonly plain: string;
  /** System message of the chat format; an empty text sends none. */
  readonly system: string;
  /** User message of the chat format. */
  readonly user: string;
}

/** Ends an episode can come to by the policy's own doing. */
export type PolicyOutcome = "answered" | "no_answer" | "turn_limit" | "length" | "invalid";

/** One executed or repeated search. */
export interface SearchRecord {
  readonly query: string;
  /** Ids of the passages shown, in the order shown. */
  readonly passageIds: readonly string[];
  /** True when the same query was asked before in this episode and its earlier result returned. */
  readonly repeated: boolean;
  readonly milliseconds: number;
  /** The seat that searched, where there are several. */
  readonly seat?: string;
}

/** What a finished episode says about itself. It holds no gold answer, and no reward but what an agent posted. */
export interface Ending {
  readonly outcome: PolicyOutcome;
  /** Policy turns taken. */
  readonly turns: number;
  readonly searches: readonly SearchRecord[];
  readonly invalidActions: number;
  /** Tokens cut from observations to fit their budgets. */
  readonly observationTokensCut: number;
  /** What an agent of the user's own said of its episode. Its answer is judged, and no answer tags are read. */
  readonly agent?: { readonly answer?: string; readonly reward?: number };
  /** The team's account of its episode. Its answer is judged, and no answer tags are read. */
  readonly team?: TeamAccount;
}

/** A program that plays one episode. Throws `ToolError` when its tools fail: that is never the policy's fault. */
export interface Environment {
  readonly name: string;
  /** Names of the seats it needs, e.g. ["researcher"]. */
  readonly seats: readonly string[];
  /** What opens a seat's conversation; seats that are not named here open with the config's prompt. */
  readonly prompts?: Readonly<Record<string, SeatPrompt>>;
  play(question: Question, seats: Readonly<Record<string, Seat>>, signal: AbortSignal): Promise<Ending>;
}
