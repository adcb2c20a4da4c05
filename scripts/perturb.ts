import { ConfigError, InvariantError, SamplerError } from "../core/errors.ts";
import type { Rng } from "../core/rng.ts";
import type { NamedFamily } from "../datasets/families/families.ts";
import type { Task } from "../datasets/task.ts";
import type { World } from "../datasets/world.ts";
import type { ChatPolicy } from "../rollout/endpoint/chat.ts";
import { rewrite } from "./rewrite-question.ts";
import type { Setup } from "./setup.ts";

/** What a new task has in place of what. */
export interface Change {
  /** The entity that a question starts from, one of its relations, something in a generated problem, the words alone. */
  readonly what: "entity" | "relation" | "problem" | "wording";
  readonly before: string;
  readonly after: string;
}

export interface Perturbed {
  /** Its gold answer is the world's, the family's or the data set's: no model ever says what is right. */
  readonly task: Task;
  readonly changed: Change;
}

/** A task with one thing changed, or why there is none. */
export type Perturb = (task: Task, draw: Rng, signal: AbortSignal) => Promise<Perturbed | string>;

/**
 * Who changes the tasks of a run: the world or the family that they are of, else a model that rewrites the question.
 * @throws ConfigError for questions that nothing here can change
 */
export function perturberOf(setup: Setup, model: ChatPolicy | undefined): Perturb {
  const { world, family } = setup;
  if (world) return async (task, draw) => possibly(() => inWorld(world, task, draw));
  if (family) return async (task, draw) => possibly(() => inFamily(family, task, draw));
  if (model)
    return async (task, draw, signal) => {
      try {
        const question = await rewrite(setup, model, task, draw, signal);
        if (question === undefined) return "not rewritten";
        return {
          task: { ...task, id: `${task.id}~${draw.int(2 ** 31)}`, question },
          changed: { what: "wording", ...difference(task.question, question) },
        };
      } catch (error) {
        if (error instanceof SamplerError && !signal.aborted) return "the model failed";
        throw error;
      }
    };
  throw new ConfigError({
    what: "nothing here can change the questions of this run",
    where: "--url",
    got: `data.train.kind: ${setup.config.data.train.kind}`,
    expected: "the synthetic world, a family, or a model that rewrites",
    next: "Name a model with --url and --model.",
  });
}

function possibly(work: () => Perturbed): Perturbed | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof InvariantError) return "nothing else can be asked";
    throw error;
  }
}

function inWorld(world: World, { id }: Task, draw: Rng): Perturbed {
  const before = world.planned(id).plan.hops;
  const { task, plan } = world.perturb(id, draw);
  const [from, to] = [before[0]!.subject, plan.hops[0]!.subject];
  if (from !== to) return { task, changed: { what: "entity", before: from, after: to } };
  const at = plan.hops.findIndex(({ relation }, i) => relation !== before[i]?.relation);
  return {
    task,
    changed: { what: "relation", before: before[at]!.relation, after: plan.hops[at]!.relation },
  };
}

function inFamily({ family }: NamedFamily, { id, question }: Task, draw: Rng): Perturbed {
  const { task } = family.perturb(id, draw);
  return { task, changed: { what: "problem", ...difference(question, task.question) } };
}

/** The words in which two texts differ, those aside that they begin and end with alike. */
export function difference(before: string, after: string): { before: string; after: string } {
  const [a, b] = [before.split(/\s+/u), after.split(/\s+/u)];
  const shorter = Math.min(a.length, b.length);
  let [head, tail] = [0, 0];
  while (head < shorter && a[head] === b[head]) head++;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = (words: readonly string[]) => words.slice(head, words.length - tail).join(" ");
  return { before: middle(a), after: middle(b) };
}
