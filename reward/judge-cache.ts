import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { makeFolder, writeFileAtomic } from "../core/files.ts";
import type { TokenUsage } from "../rollout/trajectory.ts";

/** What a judge said of one content. */
export interface Verdict {
  /** In [0, 1]. */
  readonly value: number;
  readonly reason: string;
  /** What the verdict took, attempts that failed included. Absent where the server does not say. */
  readonly usage?: TokenUsage;
}

const tokens = z.int().min(0);
const line = z.object({
  key: z.string(),
  value: z.number().min(0).max(1),
  reason: z.string(),
  usage: z.object({ promptTokens: tokens, completionTokens: tokens }).optional(),
});
type Line = z.infer<typeof line>;

/** Verdicts by content, in memory and in an append-only JSONL file: paid for once, also by a run that was killed. */
export class JudgeCache {
  readonly #verdicts = new Map<string, Verdict>();
  #path: string | undefined;

  get path(): string | undefined {
    return this.#path;
  }

  get(key: string): Verdict | undefined {
    return this.#verdicts.get(key);
  }

  /**
   * Reads the file, if it is there, and keeps in it from now on; what is already known is written too.
   * @throws DataError for a line that is no verdict; a last line that was torn off by a kill is dropped
   */
  open(path: string): void {
    const fresh = [...this.#verdicts];
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const lines = text.split("\n");
    const torn = lines.pop() ?? "";
    const there = new Set<string>();
    lines.forEach((each, i) => {
      if (each.trim() === "") return;
      const read = parse(each, `${path}:${i + 1}`);
      there.add(read.key);
      this.#verdicts.set(read.key, verdictOf(read));
    });
    this.#path = path;
    makeFolder(dirname(path));
    if (torn !== "") this.#mend(path, text.slice(0, text.length - torn.length), torn);
    for (const [key, verdict] of fresh) if (!there.has(key)) this.#append(key, verdict);
  }

  set(key: string, verdict: Verdict): void {
    this.#verdicts.set(key, verdict);
    this.#append(key, verdict);
  }

  #mend(path: string, whole: string, torn: string): void {
    const parsed = line.safeParse(jsonOf(torn));
    if (parsed.success) {
      this.#verdicts.set(parsed.data.key, verdictOf(parsed.data));
    }
    writeFileAtomic(path, parsed.success ? `${whole}${torn}\n` : whole);
  }

  #append(key: string, { value, reason, usage }: Verdict): void {
    if (this.#path === undefined) return;
    appendFileSync(this.#path, `${JSON.stringify({ key, value, reason, usage })}\n`);
  }
}

const verdictOf = ({ value, reason, usage }: Line): Verdict =>
  usage === undefined ? { value, reason } : { value, reason, usage };

function parse(text: string, where: string): Line {
  const parsed = line.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new DataError({
    what: "this line is no verdict of a judge",
    where,
    expected: '{"key": …, "value": 0 to 1, "reason": …}',
    next: "Take the line out, or name another file in reward.judge.cache.",
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
