import { type Complaint, exitCode, ForagerError } from "../core/errors.ts";

/** An error as the command line shows it. */
export interface Report {
  readonly kind: string;
  readonly complaint: Complaint;
  readonly exitCode: 1 | 2;
}

/** What the operating system and SQLite say when the user must act, in our words. Exit code 2. */
const systemErrors: Readonly<Record<string, { what: string; next: string }>> = {
  EACCES: { what: "no permission", next: "Choose another folder, or change its permissions." },
  EPERM: { what: "no permission", next: "Choose another folder, or change its permissions." },
  EROFS: { what: "the file system is read-only", next: "Choose another folder." },
  ENOSPC: { what: "the disk is full", next: "Free some space, or choose another folder, then run again." },
  EDQUOT: { what: "the disk quota is used up", next: "Free some space, or choose another folder." },
  ENOENT: { what: "no such file or folder", next: "Check the path." },
  ENOTDIR: { what: "a part of the path is a file, not a folder", next: "Check the path." },
  EISDIR: { what: "a folder where a file is needed", next: "Check the path." },
  EEXIST: { what: "something is in the way", next: "Choose another path." },
  ENAMETOOLONG: { what: "the path is too long", next: "Choose a shorter one." },
  EADDRINUSE: { what: "the port is in use", next: "Choose another port." },
  ERR_INVALID_ARG_VALUE: { what: "a value the system does not take", next: "Check the paths." },
  SQLITE_FULL: { what: "the disk is full", next: "Free some space, then run again." },
  SQLITE_READONLY: { what: "the run's database is read-only", next: "Change its permissions." },
  SQLITE_CANTOPEN: { what: "cannot open the run's database", next: "Check that its folder can be written." },
  SQLITE_NOTADB: { what: "the run's database is damaged", next: "Start a new run." },
  SQLITE_CORRUPT: { what: "the run's database is damaged", next: "Start a new run." },
};

export function reportOf(error: unknown): Report {
  if (error instanceof ForagerError)
    return { kind: error.name, complaint: error.complaint, exitCode: exitCode(error) };
  const { code, path } = (error ?? {}) as { code?: unknown; path?: unknown };
  const system = typeof code === "string" ? systemErrors[code] : undefined;
  if (system) {
    const where = typeof path === "string" ? { where: path } : {};
    return {
      kind: String(code),
      complaint: { ...system, ...where, got: (error as Error).message },
      exitCode: 2,
    };
  }
  const got = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    kind: "bug",
    complaint: {
      what: "Forager failed in a way it has no words for",
      got,
      next: "Run again with FORAGER_DEBUG=1 to see where, and report it.",
    },
    exitCode: 1,
  };
}

/** One error as text: what, then where, got, expected and next on lines of their own. */
export function showReport({ complaint }: Report): string {
  const { what, where, got, expected, next } = complaint;
  const facts = Object.entries({ where, got, expected, next }).filter(([, value]) => value);
  return [`error: ${what}`, ...facts.map(([name, value]) => `  ${name.padEnd(9)}${value}`)].join("\n");
}
