import { EnvError } from "../../core/errors.ts";
import type { Act, ActOptions, Observation } from "../../env/environment.ts";
import { fitObservation } from "../observation.ts";
import type { PlayerSeat, SeatPlace } from "../player-seat.ts";
import type { PromptConfig } from "../renderer-config.ts";
import type { Segment, Sequence, TokenUsage } from "../trajectory.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** A turn, and what its server counted, where it does. */
export interface ChatAct extends Act {
  readonly usage?: TokenUsage;
}

/** Asks the model for its next turn. */
export type Talk = (
  messages: readonly ChatMessage[],
  o: ActOptions & { seed: number; place: SeatPlace },
) => Promise<ChatAct>;

/**
 * A seat taken by a model behind a chat API: the question is a user message, its turns are the assistant's, search
 * results and corrections are user messages. Segments have text alone: no tokens, no logprobs, no version.
 */
export class ChatSeat implements PlayerSeat {
  readonly #place: SeatPlace;
  readonly #talk: Talk;
  readonly #prompt: Pick<PromptConfig, "system" | "user">;
  readonly #ended: Sequence[] = [];
  #messages: ChatMessage[] = [];
  #segments: Segment[] = [];
  #turn = 0;
  #state: "open" | "acting" | "closed" = "open";
  failure: unknown;

  constructor(place: SeatPlace, prompt: Pick<PromptConfig, "system" | "user">, talk: Talk) {
    this.#place = place;
    this.#talk = talk;
    this.#prompt = place.words ?? prompt;
    this.#open();
  }

  get sequenceName(): string {
    return this.#place.sequence;
  }

  /** The budget is counted in the config's own tokens: the model's are not known. */
  async observe(text: string | Observation): Promise<{ tokens: number; cut: number }> {
    this.#expectOpen("observe");
    const { tokenizer } = this.#place;
    if (typeof text === "string") {
      this.#show("injected", text);
      return { tokens: tokenizer.encode(text).length, cut: 0 };
    }
    const plain = { prompt: () => [], observation: (each: string) => each };
    const { tokens, cut } = fitObservation(text, tokenizer, plain);
    this.#show("observation", cut === 0 ? text.open + text.body + text.close : tokenizer.decode(tokens));
    return { tokens: tokens.length, cut };
  }

  async act({ stop, maxTokens }: ActOptions): Promise<Act> {
    this.#expectOpen("act");
    const { seedOfTurn, onSampling } = this.#place;
    this.#state = "acting";
    onSampling?.(true);
    try {
      const seed = seedOfTurn(this.#turn++);
      const { usage, ...act } = await this.#talk([...this.#messages], {
        stop,
        maxTokens,
        seed,
        place: this.#place,
      });
      // What comes after the end of the episode is not part of its record.
      if ((this.#state as string) !== "closed" && act.text !== "") {
        this.#say("assistant", act.text);
        const { text, finish } = act;
        this.#segments.push({ source: "policy", tokens: [], text, finish, ...(usage && { usage }) });
      }
      return act;
    } catch (error) {
      this.failure ??= error;
      throw error;
    } finally {
      onSampling?.(false);
      if (this.#state === "acting") this.#state = "open";
    }
  }

  restart(text: string): Promise<{ tokens: number; cut: number }> {
    this.#expectOpen("restart");
    this.#ended.push(this.#sequence());
    this.#open();
    return this.observe(text);
  }

  close(): void {
    this.#state = "closed";
  }

  sequences(): Sequence[] {
    return [...this.#ended, this.#sequence()];
  }

  #sequence(): Sequence {
    return { seat: this.#place.name, segments: this.#segments.slice() };
  }

  #open(): void {
    const { system, user } = this.#prompt;
    this.#messages = [
      ...(system === "" ? [] : [{ role: "system", content: system } as const]),
      { role: "user", content: user.replaceAll("{question}", () => this.#place.question) },
    ];
    const text = this.#messages.map(({ content }) => content).join("\n\n");
    this.#segments = [{ source: "prompt", tokens: [], text }];
  }

  #show(source: "observation" | "injected", text: string): void {
    this.#say("user", text.trim());
    this.#segments.push({ source, tokens: [], text });
  }

  /** Two in a row by one speaker are one message: some APIs insist that speakers take turns. */
  #say(role: "user" | "assistant", content: string): void {
    const last = this.#messages.at(-1);
    if (last?.role === role)
      this.#messages[this.#messages.length - 1] = { role, content: `${last.content}\n${content}` };
    else this.#messages.push({ role, content });
  }

  #expectOpen(call: string): void {
    if (this.#state === "open") return;
    throw new EnvError({
      what: this.#state === "closed" ? `${call} after the episode ended` : `${call} during an act`,
      where: `seat ${this.#place.name}`,
      next: "Await every call of a seat before the next, and before play returns.",
    });
  }
}
