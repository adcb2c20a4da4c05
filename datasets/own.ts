import { z } from "zod";
import { ConfigError, DataError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { Dropped, LoadedTasks } from "./jsonl.ts";
import type { Task } from "./task.ts";

/** Questions of a user's own, by the name that YAML calls them: `defineForager({ datasets })`. */
export type OwnDatasets = Readonly<Record<string, () => Promise<readonly Task[]>>>;

/** Types do not hold at run time: what comes from a user's function is checked like a file. */
const ownTask = z.object({
  id: z.string().min(1),
  question: z.string(),
  goldenAnswers: z.array(z.string()),
  dataset: z.string().min(1),
  hops: z.int().min(1),
  supportingIds: z.array(z.string()).optional(),
  supportingTitles: z.array(z.string()).optional(),
});

/**
 * Questions of a user's own, checked. Those without a usable gold answer are left out and named, as in a file.
 * @throws ConfigError for an unknown name; DataError for a question that is none, a duplicate id, or no question at all
 */
export async function readOwn(
  name: string,
  own: OwnDatasets,
  normalize: (answer: string) => string,
): Promise<LoadedTasks> {
  const load = Object.hasOwn(own, name) ? own[name] : undefined;
  if (!load) throw unknown(name, Object.keys(own));
  const tasks: Task[] = [];
  const dropped: Dropped[] = [];
  const droppedAliases: { id: string; alias: string }[] = [];
  const seen = new Set<string>();
  for (const [index, raw] of (await load()).entries()) {
    const where = `data set ${name}, question ${index + 1}`;
    const { supportingIds, supportingTitles, ...task } = checked(raw, where);
    const { id } = task;
    if (seen.has(id)) throw new DataError({ what: `the id \`${id}\` is there twice`, where });
    seen.add(id);
    const goldenAnswers = task.goldenAnswers.filter((answer) => normalize(answer) !== "");
    if (task.question.trim() === "") dropped.push({ id, line: index + 1, reason: "no question" });
    else if (goldenAnswers.length === 0) dropped.push({ id, line: index + 1, reason: "no gold answer" });
    else {
      for (const alias of task.goldenAnswers)
        if (!goldenAnswers.includes(alias)) droppedAliases.push({ id, alias });
      tasks.push({
        ...{ ...task, goldenAnswers },
        ...(supportingIds ? { supportingIds } : {}),
        ...(supportingTitles ? { supportingTitles } : {}),
      });
    }
  }
  if (tasks.length === 0)
    throw new DataError({ what: "no question to work with", where: `data set ${name}` });
  return { tasks, dropped, droppedAliases };
}

function checked(raw: unknown, where: string): z.output<typeof ownTask> {
  const parsed = ownTask.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new DataError({
    what: `field \`${issue?.path.join(".") || "(question)"}\` is wrong`,
    where,
    expected: issue?.message ?? "a Task",
  });
}

function unknown(name: string, names: readonly string[]): ConfigError {
  const close = nearest(name, names);
  return new ConfigError({
    what: `there is no data set \`${name}\``,
    expected: names.length > 0 ? `one of ${names.join(", ")}` : "a name given to defineForager({ datasets })",
    next: close
      ? `Did you mean \`${close}\`?`
      : "Add yours with defineForager({ datasets }), or name a file.",
  });
}
