import { EngineError } from "../../core/errors.ts";
import type { Graph, Value } from "../graph.ts";

export type Result = Value | readonly Value[];

/** One tfjs kernel: its named inputs in order ("*" is a list) and what it records for them. */
export interface Kernel {
  readonly inputs: string;
  readonly record: (graph: Graph, inputs: readonly Value[], attrs: never) => Result;
}

export type KernelTable = Readonly<Record<string, Kernel>>;

/** A row: `inputs` are space-separated names, `A` the attributes tfjs passes to this kernel. */
export function kernel<A = unknown>(
  inputs: string,
  record: (graph: Graph, inputs: readonly [Value, Value, Value, ...Value[]], attrs: A) => Result,
): Kernel {
  return { inputs, record: record as unknown as Kernel["record"] };
}

export function refuse(what: string, got: string, next?: string): never {
  throw new EngineError({ what, got, ...(next ? { next } : {}) });
}
