import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { CheckpointError } from "../core/errors.ts";

/**
 * Opens a run's store to read it, also while the run goes on. The caller closes it; a store that cannot be read is closed here.
 * @param missing what to say when there is none
 * @throws CheckpointError when there is none, or it is damaged
 */
export function openStore<T>(
  folder: string,
  missing: { readonly what: string; readonly next: string },
  read: (db: Database.Database, path: string) => T,
): T {
  const path = join(folder, "run.db");
  if (!existsSync(path)) throw new CheckpointError({ where: path, ...missing });
  return guarded(path, () => {
    // Not `readonly`: such a connection leaves the log files of SQLite behind in the folder.
    const db = new Database(path, { fileMustExist: true });
    try {
      db.pragma("query_only = ON");
      return read(db, path);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** What fails while a store is read is said as that. @throws CheckpointError */
export function guarded<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new CheckpointError({
      what: "cannot read the run's store",
      where,
      got: cause instanceof Error ? cause.message : String(cause),
      next: "Check that it is a Forager run.db and that its folder can be written; else copy the folder and try there.",
      cause,
    });
  }
}
