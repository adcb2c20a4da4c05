import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";

const pattern = z.string().transform((source, ctx): RegExp => {
  try {
    return new RegExp(source, "u");
  } catch (error) {
    ctx.issues.push({ code: "custom", message: (error as Error).message, input: source });
    return z.NEVER;
  }
});

const line = z.strictObject({
  /** Against the question; default: every question. */
  question: pattern.optional(),
  /** Turns that were taken before, a number or a pattern against it; default: every turn. */
  turn: z.union([z.int().min(0), pattern]).optional(),
  /** Against the name of the model or adapter; default: every one. */
  model: pattern.optional(),
  /** A text, or some to draw from (the first of them when greedy). */
  say: z.union([z.string().transform((one) => [one]), z.array(z.string()).min(1)]),
});

const scriptSchema = z.strictObject({
  /** The question stands after its last match, to the end of that line or the next tag. */
  questionMark: pattern.default(/<question>|[Qq]uestion:/u),
  /** Each match after the question is a turn that was taken. */
  turnMark: pattern.default(/<\/information>/u),
  /** The first that matches is said. */
  lines: z.array(line).min(1),
});

/** What a stub says to which question, turn and model. */
export type StubScript = z.infer<typeof scriptSchema>;

/** Checks a script. @throws DataError */
export function parseStubScript(value: unknown, where = "script"): StubScript {
  const parsed = scriptSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A mistyped key says more than what is missing because of it.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  throw new DataError({
    where,
    what: `unexpected content at "${issue?.path.join(".")}"`,
    got: issue?.message ?? "?",
    expected: "lines: [{ question?, turn?, model?, say }]",
  });
}

/** Reads a script from a YAML or JSON file. @throws DataError */
export function readStubScript(path: string): StubScript {
  let value: unknown;
  try {
    value = parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new DataError({
      where: path,
      what: "cannot read the script",
      got: (cause as Error).message,
      cause,
    });
  }
  return parseStubScript(value, path);
}

/** Where a conversation stands, read from its prompt alone: any replica of a stub sees the same. */
export interface Place {
  readonly question: string;
  /** Turns taken before. */
  readonly turn: number;
}

export const defaultMarks = scriptSchema.pick({ questionMark: true, turnMark: true }).parse({});

export function placeOf(prompt: string, marks: Pick<StubScript, "questionMark" | "turnMark">): Place {
  const every = (mark: RegExp, text: string) => [...text.matchAll(new RegExp(mark.source, "gu"))];
  const last = every(marks.questionMark, prompt).at(-1);
  const rest = last ? prompt.slice(last.index + last[0].length) : prompt;
  const question = /^[^\n<]*/.exec(last ? rest : prompt)?.[0].trim() ?? "";
  return { question, turn: every(marks.turnMark, rest).length };
}

/** The line that a script has for a place; undefined when it has none. */
export function scripted(
  script: StubScript,
  { question, turn }: Place,
  o: { readonly model: string; readonly seed: number; readonly greedy: boolean },
): string | undefined {
  const fits = (asked: number | RegExp | undefined) =>
    asked === undefined || (typeof asked === "number" ? asked === turn : asked.test(String(turn)));
  const found = script.lines.find(
    (each) =>
      fits(each.turn) && (each.question?.test(question) ?? true) && (each.model?.test(o.model) ?? true),
  );
  if (!found) return undefined;
  return o.greedy ? found.say[0] : rng(o.seed, "say", turn).pick(found.say);
}
