import type * as Lance from "@lancedb/lancedb";

let loaded: Promise<typeof Lance> | undefined;

/**
 * LanceDB, loaded once and only when needed. Its full-text build deadlocks on machines with one or two cores
 * unless its thread count is set before the native module loads (lancedb issue 3568).
 */
export function lance(): Promise<typeof Lance> {
  process.env.LANCE_CPU_THREADS ??= "4";
  loaded ??= import("@lancedb/lancedb");
  return loaded;
}

export const tableName = "passages";
/** The column that is indexed: the terms of title and text, joined by spaces. */
export const termsColumn = "terms";
