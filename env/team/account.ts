import type { Intent, Payload, Violation } from "./message.ts";
import type { RoleName } from "./roles.ts";

/** One call of a role that was to end in a message. */
export interface TeamCall {
  /** From 1. */
  readonly round: number;
  readonly role: RoleName;
  /** 1, or 2 when the first text was a violation and was answered. */
  readonly attempt: 1 | 2;
  /** Sampled tokens, those of its searches included. */
  readonly tokens: number;
  readonly searches: number;
  readonly intent?: Intent;
  /** Absent when the text was a violation: then there is no message. */
  readonly payload?: Payload;
  readonly violation?: Violation;
  /** Nothing stood around the message. */
  readonly clean: boolean;
}

/** What the verifier's text came to. An unparsable one approves nothing. */
export type VerdictKind = "pass" | "fail" | "unparsable";

/** The analyst put `by` in the place of `replaced`. */
export interface Compression {
  readonly round: number;
  /** The blackboard, or the role whose workspace it was. */
  readonly of: "blackboard" | RoleName;
  readonly replaced: string;
  readonly by: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A soft limit that was passed. */
export interface Overrun {
  readonly round: number;
  readonly of: "blackboard" | RoleName;
  readonly tokens: number;
  readonly limit: number;
}

/** The team's account of its episode: all that rewards, detectors and reports are made from. */
export interface TeamAccount {
  /** Rounds begun, from 1. */
  readonly rounds: number;
  /** Every call in the order made. */
  readonly calls: readonly TeamCall[];
  /** Verdicts in order; without a verifier none. */
  readonly verdicts: readonly { readonly round: number; readonly kind: VerdictKind }[];
  /** A draft was accepted within the rounds, or there was nobody to reject it. False: the episode's whole reward is 0. */
  readonly converged: boolean;
  readonly aborted: boolean;
  /** Answer of the draft that was accepted. */
  readonly draft?: string;
  /** The team's answer. */
  readonly answer?: string;
  /** The summarizer's answer does not normalise to the draft's: the draft's stands, and the format is lost. */
  readonly conclusionChanged: boolean;
  readonly compressions: readonly Compression[];
  readonly overruns: readonly Overrun[];
}
