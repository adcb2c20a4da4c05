import { type Complaint, EnvError, SamplerError } from "../core/errors.ts";
import type { Act, ActOptions, Observation } from "../env/environment.ts";
import { Ledger, logprobRounding, withoutEnd } from "./ledger.ts";
import { fitObservation } from "./observation.ts";
import type { PlayerSeat } from "./player-seat.ts";
import type { Completion, Sampler } from "./sampler.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";
import type { Segment, Sequence } from "./trajectory.ts";

/** How a policy's tokens are drawn. */
export interface Decoding {
  /** 0 is greedy. */
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
}

export interface PolicySeatOptions {
  readonly name: string;
  /** Names the sequence to the sampler. */
  readonly sequence: string;
  /** Names the group to the sampler. */
  readonly group?: string | undefined;
  readonly prompt: Pick<Segment, "tokens" | "text">;
  readonly sampler: Sampler;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly decoding: Decoding;
  /** 32-bit sampling seed of a turn, 0-based. */
  readonly seedOfTurn: (turn: number) => number;
  readonly signal: AbortSignal;
  /** Told when this seat begins and ends waiting for its sampler. */
  readonly onSampling?: ((sampling: boolean) => void) | undefined;
}

/**
 * A seat taken by a policy: text on the environment's side, tokens on the sampler's, a ledger between them.
 * Plain strings are the harness's own words (`injected`); Observations come from tools (`observation`).
 */
export class PolicySeat implements PlayerSeat {
  readonly #options: PolicySeatOptions;
  readonly #ended: Sequence[] = [];
  #ledger: Ledger;
  #turn = 0;
  #state: "open" | "acting" | "closed" = "open";
  /** Something did not fit any more: the next act can only say so. */
  #full = false;
  /** The failure of its sampler, also when the environment swallowed it. */
  failure: unknown;

  constructor(options: PolicySeatOptions) {
    this.#options = options;
    this.#ledger = new Ledger(options.name, options.prompt);
  }

  get sequenceName(): string {
    const { sequence } = this.#options;
    return this.#ended.length === 0 ? sequence : `${sequence}/${this.#ended.length}`;
  }

  restart(text: string): Promise<{ tokens: number; cut: number }> {
    this.#expectOpen("restart");
    const { name, prompt, sampler } = this.#options;
    sampler.release(this.sequenceName);
    this.#ended.push(this.#audited());
    this.#ledger = new Ledger(name, prompt);
    this.#full = false;
    return this.observe(text);
  }

  async observe(text: string | Observation): Promise<{ tokens: number; cut: number }> {
    this.#expectOpen("observe");
    const { tokenizer, renderer, sampler } = this.#options;
    const injected = typeof text === "string";
    const { tokens, cut } = injected
      ? { tokens: tokenizer.encode(renderer.observation(text)), cut: 0 }
      : fitObservation(text, tokenizer, renderer);
    // A chat frame closes the assistant's turn; when the policy has closed it itself, once is enough.
    const last = this.#ledger.lastToken;
    if (last !== undefined && tokens[0] === last && tokenizer.eosIds.includes(last)) tokens.shift();
    if (this.#full || this.#ledger.length + tokens.length >= sampler.contextTokens) {
      this.#full = true;
      return { tokens: 0, cut: cut + tokens.length };
    }
    this.#ledger.shown(injected ? "injected" : "observation", tokens, tokenizer.decode(tokens));
    return { tokens: tokens.length, cut };
  }

  async act({ stop, maxTokens }: ActOptions): Promise<Act> {
    this.#expectOpen("act");
    const { name, sampler, group, decoding, seedOfTurn, signal, onSampling } = this.#options;
    const room = sampler.contextTokens - this.#ledger.length;
    if (this.#full || room <= 0) return { text: "", finish: "context", tokens: 0 };
    const limit = Math.min(maxTokens, room);
    const { temperature, topP, topK } = decoding;
    const params = { temperature, topP, topK, maxTokens: limit, stop, seed: seedOfTurn(this.#turn++) };
    this.#state = "acting";
    onSampling?.(true);
    try {
      const prompt = this.#ledger.ask();
      const completion = await sampler.sample(
        { sequence: this.sequenceName, group, seat: name, prompt, params },
        signal,
      );
      this.#expectActing();
      this.#check(completion, limit);
      // The room was smaller than what was asked for: it is the context that ended the turn.
      const finish = completion.finish === "length" && limit < maxTokens ? "context" : completion.finish;
      this.#ledger.sampled({ ...completion, finish });
      return { text: completion.text, finish, tokens: completion.tokens.length };
    } catch (error) {
      this.failure ??= error;
      throw error;
    } finally {
      onSampling?.(false);
      if (this.#state === "acting") this.#state = "open";
    }
  }

  /** The episode is over: what is there is the record, and nothing can be added. */
  close(): void {
    this.#state = "closed";
  }

  /** Audited. Throws InvariantError. */
  sequences(): Sequence[] {
    return [...this.#ended, this.#audited()];
  }

  #audited(): Sequence {
    return this.#ledger.audited(this.#options.tokenizer);
  }

  #expectActing(): void {
    if (this.#state === "closed")
      throw new SamplerError({ what: "the episode ended before its sampler answered" });
  }

  #expectOpen(call: string): void {
    if (this.#state === "open") return;
    throw new EnvError({
      what: this.#state === "closed" ? `${call} after the episode ended` : `${call} during an act`,
      where: `seat ${this.#options.name}`,
      next: "Await every call of a seat before the next, and before play returns.",
    });
  }

  /** A sampler may be a server: what it sends is checked, and a broken reply is its failure, not the policy's. */
  #check({ tokens, logprobs, text, version }: Completion, limit: number): void {
    const { tokenizer, sequence } = this.#options;
    const facts = brokenReply(tokens, logprobs, text, version, limit, tokenizer);
    if (facts) throw new SamplerError({ where: `sequence ${sequence}`, ...facts });
  }
}

/** vLLM writes −9999 where it has no logprob; no real one comes near. */
const noLogprob = -9999;

type Facts = Pick<Complaint, "what" | "got" | "expected">;

export function brokenReply(
  tokens: readonly number[],
  logprobs: readonly number[],
  text: string,
  version: number,
  limit: number,
  tokenizer: Tokenizer,
): Facts | undefined {
  if (tokens.length !== logprobs.length)
    return { what: "tokens and logprobs of unequal length", got: `${tokens.length} and ${logprobs.length}` };
  if (tokens.length > limit)
    return { what: "more tokens than asked for", got: `${tokens.length}`, expected: `at most ${limit}` };
  if (!Number.isInteger(version) || version < 0)
    return { what: "no policy version", got: String(version), expected: "an integer ≥ 0" };
  const wrong = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= tokenizer.vocabSize);
  if (wrong !== undefined) return { what: "a token outside the vocabulary", got: String(wrong) };
  const missing = logprobs.find((logprob) => !(logprob <= logprobRounding && logprob > noLogprob));
  if (missing !== undefined)
    return { what: "a token without a logprob", got: String(missing), expected: "finite and ≤ 0" };
  const decoded = tokenizer.decode(withoutEnd(tokens, tokenizer));
  if (decoded !== text)
    return {
      what: "the text is not what the tokens decode to",
      got: text.slice(0, 80),
      expected: decoded.slice(0, 80),
    };
  return undefined;
}
