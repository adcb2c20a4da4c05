/**
 * The vocabulary of failure. Each error names the boundary it crossed and five things:
 * what, where, got, expected, and the next move. `user` errors end the program with exit code 2
 * and no stack trace; infrastructure errors during a rollout become data on the trajectory.
 */
export interface Complaint {
  /** What went wrong, one clause without a full stop: "unknown key `groupSzie`". */
  readonly what: string;
  /** File, file:line, config path, URL: where it went wrong. */
  readonly where?: string;
  readonly got?: string;
  readonly expected?: string;
  /** The next move, an imperative sentence. */
  readonly next?: string;
  readonly cause?: unknown;
}

export class ForagerError extends Error {
  readonly complaint: Complaint;
  constructor(complaint: Complaint) {
    super(sentence(complaint), complaint.cause === undefined ? undefined : { cause: complaint.cause });
    this.name = new.target.name;
    this.complaint = complaint;
  }
}

/** A mistake in the YAML, an override or a flag. Exit code 2. */
export class ConfigError extends ForagerError {}
/** A missing, malformed or empty input file. Exit code 2. */
export class DataError extends ForagerError {}
/** A checkpoint, adapter or run folder that cannot be used. Exit code 2. */
export class CheckpointError extends ForagerError {}
/** The policy endpoint failed. */
export class SamplerError extends ForagerError {}
/** A tool (the retriever) failed. */
export class ToolError extends ForagerError {}
/** The environment broke its own contract. */
export class EnvError extends ForagerError {}
/** A reward part or judge failed. */
export class RewardError extends ForagerError {}
/** The tensor engine: unknown kernel, bad shape, session failure. */
export class EngineError extends ForagerError {}
/** An internal promise was broken: always a bug of ours. */
export class InvariantError extends ForagerError {}

const userErrors = [ConfigError, DataError, CheckpointError];

/** 2 for the user's mistakes, 1 for the rest. */
export function exitCode(error: unknown): 1 | 2 {
  return userErrors.some((kind) => error instanceof kind) ? 2 : 1;
}

function sentence({ where, what, got, expected, next }: Complaint): string {
  const facts = [expected && `expected ${expected}`, got && `got ${got}`].filter(Boolean).join(", ");
  return `${where ? `${where}: ` : ""}${what}${facts ? `: ${facts}` : ""}.${next ? ` ${next}` : ""}`;
}
