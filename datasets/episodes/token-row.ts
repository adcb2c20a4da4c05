/** One sequence of an episode, token by token: a row of the Arrow and Parquet exports. */
export interface TokenRow {
  readonly run: string;
  /** The run was not done when the row was exported. */
  readonly partial: boolean;
  readonly step: number;
  readonly group: number;
  readonly member: number;
  readonly seat: string;
  /** Place among the episode's sequences. */
  readonly sequence: number;
  /** Of the policy that sampled the first and the last turn; null without a turn. */
  readonly version: number | null;
  readonly last_version: number | null;
  readonly question_id: string;
  readonly question: string;
  readonly golden_answers: readonly string[];
  readonly outcome: string;
  /** What became of its group: kept, or why not. */
  readonly verdict: string;
  readonly reward: number | null;
  /** Of the whole episode; null where the group was not trained on. */
  readonly advantage: number | null;
  /** Raw value of each reward part. */
  readonly parts: Readonly<Record<string, number>>;
  readonly prediction: string | null;
  readonly scorer: string;
  /** Fingerprint of the tokenizer. */
  readonly tokenizer: string;
  /** What the logits were divided by before sampling. */
  readonly temperature: number;
  readonly tokens: readonly number[]; // [T]
  /** 1 on what the policy sampled. */
  readonly mask: readonly number[]; // [T]
  /** log π of each token as it was sampled, at `temperature`; 0 where mask is 0. */
  readonly logprobs: readonly number[]; // [T]
  /**
   * Of each token, where the run's turns have advantages of their own; 0 where mask is 0, empty where the group was not
   * trained on. A column of such runs alone.
   */
  readonly advantages?: readonly number[]; // [T]
}

/** How a column is stored. `parts` is a struct with one nullable float64 for each reward part of the run. */
export type ColumnKind =
  | "int32"
  | "float64"
  | "string"
  | "bool"
  | "list<string>"
  | "list<int32>"
  | "list<float32>"
  | "struct<float64>";

interface Column {
  readonly kind: ColumnKind;
  readonly nullable?: true;
}

/** The schema of token rows, version 1: names, order and types are promised. */
export const tokenColumns = {
  run: { kind: "string" },
  partial: { kind: "bool" },
  step: { kind: "int32" },
  group: { kind: "int32" },
  member: { kind: "int32" },
  seat: { kind: "string" },
  sequence: { kind: "int32" },
  version: { kind: "int32", nullable: true },
  last_version: { kind: "int32", nullable: true },
  question_id: { kind: "string" },
  question: { kind: "string" },
  golden_answers: { kind: "list<string>" },
  outcome: { kind: "string" },
  verdict: { kind: "string" },
  reward: { kind: "float64", nullable: true },
  advantage: { kind: "float64", nullable: true },
  parts: { kind: "struct<float64>" },
  prediction: { kind: "string", nullable: true },
  scorer: { kind: "string" },
  tokenizer: { kind: "string" },
  temperature: { kind: "float64" },
  tokens: { kind: "list<int32>" },
  mask: { kind: "list<int32>" },
  logprobs: { kind: "list<float32>" },
  advantages: { kind: "list<float32>" },
} as const satisfies Record<keyof TokenRow, Column>;

/** Columns in the promised order; `credited`: of a run whose turns have advantages of their own. */
export const tokenColumnNames = (credited = false): (keyof TokenRow)[] =>
  (Object.keys(tokenColumns) as (keyof TokenRow)[]).filter((name) => credited || name !== "advantages");

/** What is written into the file's own metadata under `forager`. */
export const tokenSchemaName = "forager-rl@1";

/** Writes token rows batch by batch. The file is there, whole, once `finish` resolves; `abort` leaves none. */
export interface TokenWriter {
  write(rows: readonly TokenRow[]): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}
