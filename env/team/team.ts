import type { Question } from "../../datasets/task.ts";
import type { EnvConfig } from "../config.ts";
import type { Ending, Environment, PolicyOutcome, Seat, SeatPrompt } from "../environment.ts";
import type { Retriever } from "../search/retriever.ts";
import { SearchTool } from "../search-tool.ts";
import type { TeamAccount, TeamCall, VerdictKind } from "./account.ts";
import { Blackboard } from "./blackboard.ts";
import { type CallOptions, ContextFull, call } from "./call.ts";
import { type TeamConfig, teamConfig } from "./config.ts";
import { Limits } from "./limits.ts";
import type { Draft, Intent, Message, Path, Verdict } from "./message.ts";
import { type Entry, type RoleName, roleNames, roles, searching } from "./roles.ts";
import { Workspace } from "./workspace.ts";

export interface TeamOptions {
  readonly retriever: Retriever;
  readonly config: EnvConfig;
  /** The run's seed; only `shuffle` draws from it. */
  readonly seed: number;
  /** Tokens of a text, for the size of the blackboard. */
  readonly countTokens: (text: string) => number;
  /** What makes two answers the same, for a summarizer that may not change the conclusion. */
  readonly normalize: (answer: string) => string;
  /** False: nothing is said to a text that is no message, as the policy could not read it; it may try again. */
  readonly corrects?: boolean;
}

/** Seat at which the analyst compresses: its own weights, and a conversation that nobody else has. */
export const compressorSeat = "compressor";

/** The roles that are on, in the order in which they are called. */
export const rolesOf = (team: TeamConfig): RoleName[] => roleNames.filter((role) => team.roles[role].on);

/** The weights that a seat plays by. */
export const adapterOf = (team: TeamConfig, seat: string): string =>
  team.roles[seat === compressorSeat ? "analyst" : (seat as RoleName)].adapter;

/** Seats of the team: a role each, and the analyst's second one. */
export const seatsOf = (config: TeamConfig): string[] => {
  const on = rolesOf(config);
  return [...on, ...(on.includes("analyst") ? [compressorSeat] : [])];
};

/** What opens each conversation. */
export const openingsOf = (config: TeamConfig): SeatPrompt[] =>
  seatsOf(config).map((seat) => promptOf(config, seat));

/** Planner, analyst, drafter, verifier and summarizer: a seat each, and one blackboard. */
export function team(options: TeamOptions): Environment {
  const config = options.config.team ?? teamConfig.parse({});
  const seats = seatsOf(config);
  return {
    name: "team",
    seats,
    prompts: Object.fromEntries(seats.map((seat) => [seat, promptOf(config, seat)])),
    play: (question, seated, signal) => new Episode(options, config, question, seated, signal).play(),
  };
}

const compression: SeatPrompt = {
  plain: "<compressor> <question> {question} </question>",
  system:
    "You compress the notes of a team that answers a question together. Keep every fact, constraint and rejected step; drop repetition.\nWrite one message, in exactly this form and with nothing around it:\n<propose> <summary> the notes in fewer words </summary> </propose>",
  user: "Question: {question}",
};

function promptOf({ roles: own }: TeamConfig, seat: string): SeatPrompt {
  if (seat === compressorSeat) return compression;
  const role = seat as RoleName;
  const { plain, system } = own[role];
  const { prompt } = roles[role];
  // Without an analyst the drafter searches, and has to be told how.
  const told = role === "drafter" && !own.analyst.on ? `${prompt.system}\n${searching}` : prompt.system;
  return { ...prompt, system: system ?? told, ...(plain && { plain }) };
}

class Episode {
  readonly #options: TeamOptions;
  readonly #team: TeamConfig;
  readonly #question: Question;
  readonly #signal: AbortSignal;
  readonly #on: readonly RoleName[];
  readonly #workspaces: Readonly<Record<string, Workspace>>;
  readonly #board = new Blackboard();
  readonly #tool: SearchTool;
  readonly #calls: TeamCall[] = [];
  readonly #verdicts: { round: number; kind: VerdictKind }[] = [];
  readonly #limits: Limits;
  #turns = 0;
  #round = 0;

  constructor(
    options: TeamOptions,
    config: TeamConfig,
    question: Question,
    seats: Readonly<Record<string, Seat>>,
    signal: AbortSignal,
  ) {
    this.#options = options;
    this.#team = config;
    this.#question = question;
    this.#signal = signal;
    this.#on = rolesOf(config);
    this.#workspaces = Object.fromEntries(
      Object.entries(seats).map(([name, seat]) => [name, new Workspace(name, seat)]),
    );
    this.#tool = new SearchTool({ ...options, question, signal });
    this.#limits = new Limits({
      ...{ board: this.#board, workspaces: this.#workspaces, roles: this.#on, team: config },
      countTokens: options.countTokens,
      compress: (text) => this.#compressed(text),
    });
  }

  async play(): Promise<Ending> {
    const { maxRounds, feedback } = this.#team;
    try {
      while (++this.#round <= maxRounds) {
        await this.#limits.keep(this.#round, (role) => this.#reads(role));
        if ((await this.#plan()) === "abort") return this.#end("no_answer", { aborted: true });
        await this.#analyse();
        const draft = await this.#draft();
        const accepted = draft !== undefined && (await this.#accepts(draft));
        // In a static pipeline the verdict goes nowhere: the first draft is final, whatever it is.
        if (accepted || !feedback) return draft ? await this.#conclude(draft) : this.#end("no_answer");
      }
    } catch (error) {
      if (error instanceof ContextFull) return this.#end("length");
      throw error;
    }
    this.#round = maxRounds;
    return this.#end("turn_limit");
  }

  /** The planner alone makes and changes the path. A text that is no message changes nothing. */
  async #plan(): Promise<"abort" | undefined> {
    if (!this.#on.includes("planner")) return undefined;
    const allowed: Intent[] = [this.#round === 1 ? "propose" : "revise", "abort"];
    const said = await this.#call("planner", allowed);
    if (said?.intent === "abort") return "abort";
    if (said) this.#board.writePath(said.payload as Path);
    return undefined;
  }

  async #analyse(): Promise<void> {
    if (!this.#on.includes("analyst")) return;
    const said = await this.#call("analyst", ["propose"]);
    if (said && "conditions" in said.payload) this.#board.writeConditions(said.payload.conditions);
  }

  async #draft(): Promise<Draft | undefined> {
    const said = await this.#call("drafter", ["propose"]);
    if (said) this.#board.writeDraft(said.payload as Draft);
    else this.#board.writeVerdict(undefined); // a round without a draft has failed
    return said?.payload as Draft | undefined;
  }

  /** Nobody to reject it accepts; a verdict that cannot be read never does. */
  async #accepts(_draft: Draft): Promise<boolean> {
    if (!this.#on.includes("verifier")) return true;
    const said = await this.#call("verifier", ["verify"]);
    const verdict = said?.payload as Verdict | undefined;
    const kind = verdict?.verdict ?? "unparsable";
    this.#verdicts.push({ round: this.#round, kind });
    if (kind !== "pass") this.#board.writeVerdict(verdict);
    return kind === "pass";
  }

  async #conclude(draft: Draft): Promise<Ending> {
    const { normalize } = this.#options;
    if (!this.#on.includes("summarizer")) return this.#end("answered", { draft, answer: draft.answer });
    const said = await this.#call("summarizer", ["confirm"]);
    const answer = said && "answer" in said.payload ? said.payload.answer : draft.answer;
    const conclusionChanged = normalize(answer) !== normalize(draft.answer);
    return this.#end("answered", {
      draft,
      answer: conclusionChanged ? draft.answer : answer,
      conclusionChanged,
    });
  }

  async #call(role: RoleName, allowed: readonly Intent[]): Promise<Message | undefined> {
    return this.#asked(role, {
      workspace: this.#workspaces[role]!,
      allowed,
      shown: this.#board.news(role, this.#reads(role)),
      tool: role === this.#searcher ? this.#tool : undefined,
    });
  }

  async #asked(
    role: RoleName,
    what: Pick<CallOptions, "workspace" | "allowed" | "shown" | "tool">,
  ): Promise<Message | undefined> {
    const { config, corrects = true } = this.#options;
    const { message, calls, turns } = await call({
      ...{ task: this.#question.id, round: this.#round, role, ...what },
      ...{ config, team: this.#team, corrects, signal: this.#signal },
    });
    this.#calls.push(...calls);
    this.#turns += turns;
    return message;
  }

  /** Whoever collects information: the analyst, and without one the drafter. */
  get #searcher(): RoleName {
    return this.#on.includes("analyst") ? "analyst" : "drafter";
  }

  /** Without a planner the verifier's feedback goes to the drafter. */
  #reads(role: RoleName): readonly Entry[] {
    const { reads } = roles[role];
    return role === "drafter" && !this.#on.includes("planner") ? [...reads, "verdict"] : reads;
  }

  /** The analyst's weights at a seat of their own: no role's conversation ever holds another's. */
  async #compressed(text: string): Promise<string | undefined> {
    const workspace = this.#workspaces[compressorSeat];
    if (!workspace?.restarts) return undefined;
    if (workspace.tokens > 0) await workspace.restart("");
    const message = await this.#asked("analyst", {
      workspace,
      allowed: ["propose"],
      shown: text,
      tool: undefined,
    });
    return message && "summary" in message.payload ? message.payload.summary : undefined;
  }

  #end(
    outcome: PolicyOutcome,
    o: { draft?: Draft; answer?: string; conclusionChanged?: boolean; aborted?: boolean } = {},
  ): Ending {
    const { draft, answer, conclusionChanged = false, aborted = false } = o;
    const account: TeamAccount = {
      rounds: this.#round,
      calls: this.#calls,
      verdicts: this.#verdicts,
      converged: outcome === "answered",
      aborted,
      ...(draft === undefined ? {} : { draft: draft.answer }),
      ...(answer === undefined ? {} : { answer }),
      conclusionChanged,
      compressions: this.#limits.compressions,
      overruns: this.#limits.overruns,
    };
    return {
      outcome,
      turns: this.#turns,
      searches: this.#tool.records,
      invalidActions: this.#calls.filter(({ violation }) => violation !== undefined).length,
      observationTokensCut: Object.values(this.#workspaces).reduce((sum, { cut }) => sum + cut, 0),
      team: account,
    };
  }
}
