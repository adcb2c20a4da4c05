import type { Seat, SeatPrompt } from "../env/environment.ts";
import type { Sampler } from "./sampler.ts";
import type { Decoding } from "./seat.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { Sequence } from "./trajectory.ts";

/** A seat of an episode that is recorded: what `rollEpisode` needs of it beside what an environment does. */
export interface PlayerSeat extends Seat {
  /** Names the sequence to the sampler. */
  readonly sequenceName: string;
  /** The failure of its policy, also when the environment swallowed it. */
  readonly failure: unknown;
  /** The episode is over: nothing can be added. */
  close(): void;
  /** What was said, one sequence for each time the conversation began. */
  sequences(): Sequence[];
}

/** Where a policy that seats itself is asked to sit. */
export interface SeatPlace {
  readonly name: string;
  readonly sequence: string;
  readonly question: string;
  /** What opens the conversation, where the environment has words of its own for this seat. */
  readonly words?: SeatPrompt | undefined;
  readonly tokenizer: Tokenizer;
  readonly decoding: Decoding;
  /** 32-bit sampling seed of a turn, 0-based. */
  readonly seedOfTurn: (turn: number) => number;
  readonly signal: AbortSignal;
  /** Told when this seat begins and ends waiting for its policy. */
  readonly onSampling?: ((sampling: boolean) => void) | undefined;
}

/**
 * A policy that speaks text alone, with no token ids: it takes its seats itself, and `sample` throws. Its trajectories
 * have segments without tokens, logprobs and versions: they can be scored and never trained on.
 */
export interface TextPolicy extends Sampler {
  takeSeat(place: SeatPlace): PlayerSeat;
}

export const isTextPolicy = (policy: Sampler): policy is TextPolicy => "takeSeat" in policy;
