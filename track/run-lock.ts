import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { CheckpointError } from "../core/errors.ts";

export interface RunLock {
  release(): void;
}

/**
 * Files of the lock in a run folder. The empty run.lock stays when the run is over: were it removed, a process that had
 * opened it just before and one that made it anew would both hold "the" lock.
 */
export const lockFiles = ["run.lock", "run.pid"] as const;

/**
 * Makes this process the only writer of a run folder. The lock is the operating system's (SQLite's, on an empty file),
 * so it ends with its process however that dies and nothing stale is left; `run.pid` only says who holds it.
 * @throws CheckpointError when another process, or another run of this one, is at work there.
 */
export function lockRun(folder: string): RunLock {
  const [lock, pid] = lockFiles.map((name) => join(folder, name)) as [string, string];
  let db: Database.Database | undefined;
  try {
    db = new Database(lock, { timeout: 0 });
    db.pragma("journal_mode = MEMORY"); // nothing is written for good, so nothing need lie beside it
    db.exec("BEGIN EXCLUSIVE");
    writeFileSync(pid, `${process.pid}\n`);
    return release(db, pid);
  } catch (cause) {
    db?.close();
    if ((cause as { code?: string }).code !== "SQLITE_BUSY") throw unwritable(folder, cause);
    const holder = existsSync(pid) ? readFileSync(pid, "utf8").trim() : "";
    throw new CheckpointError({
      what: "another process is at work in this run folder",
      where: folder,
      ...(holder === "" ? {} : { got: `process ${holder}` }),
      next: "Wait until it has ended, or stop it with Ctrl-C, then run this again.",
      cause,
    });
  }
}

const release = (db: Database.Database, pid: string): RunLock => ({
  release() {
    if (!db.open) return;
    rmSync(pid, { force: true });
    db.close();
  },
});

const unwritable = (folder: string, cause: unknown) =>
  new CheckpointError({
    what: "cannot write into the run folder",
    where: folder,
    got: cause instanceof Error ? cause.message : String(cause),
    next: "Check its permissions and the free space, or name another with run.dir=….",
    cause,
  });
