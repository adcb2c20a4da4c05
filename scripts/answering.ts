import type { Config } from "../configs/schema.ts";
import { ConfigError, DataError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { readPassages } from "../datasets/jsonl.ts";
import type { LoadedSource } from "../datasets/load.ts";
import type { Passage, Question, Task } from "../datasets/task.ts";
import { perEpisode } from "../env/per-episode.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { episodeRetriever, type StandInResources, standIns } from "../env/search/stand-ins.ts";
import { namesOf, passageNames } from "./gold-passages.ts";
import type { Setup } from "./setup.ts";

/** What answers the searches of a config, composed with the gold passages that only a task knows. */
export type Answering = Pick<Setup, "environment" | "retriever">;

/** The synthetic world or a family: its pages, and each of its tasks by id. */
export interface Generated {
  readonly passages: readonly Passage[];
  planned(taskId: string): { readonly task: Task };
}

export const generatedOf = ({
  world,
  family,
}: Pick<LoadedSource, "world" | "family">): Generated | undefined => world ?? family?.family;

/** What it is composed of. */
export interface AnsweringParts {
  readonly engine: Retriever;
  readonly makeEnvironment: Setup["makeEnvironment"];
  readonly generated: Generated | undefined;
  /** Questions that are known beforehand, by what they are called in errors. */
  readonly questions: readonly { readonly name: string; readonly tasks: readonly Task[] }[];
}

/** Passages that `random` draws from: all of a small corpus, as many of a large one. */
const poolSize = 10_000;

/**
 * The environment and the retriever's face as `search.retriever` and `search.budget` say; without them the engine's own.
 * @throws DataError when `oracle` is asked for and a question has no gold passages in the corpus
 */
export async function answeringOf(config: Config, parts: AnsweringParts): Promise<Answering> {
  const { retriever, budget } = config.search;
  const { engine, makeEnvironment } = parts;
  if (retriever === "engine" && budget === undefined)
    return { environment: makeEnvironment(engine), retriever: engine };
  const resources = await openResources(config, parts, standIns[retriever].needs);
  if (retriever === "oracle") checkGold(parts, resources);
  return answeringWith(config, parts, resources);
}

/** The same with passages that are read already. */
export function answeringWith(
  { search: { retriever, budget } }: Config,
  { engine, makeEnvironment }: Pick<AnsweringParts, "engine" | "makeEnvironment">,
  resources: StandInResources,
): Answering {
  const choice = { retriever, budget };
  const named = standIns[retriever].version(engine.version);
  return {
    environment: perEpisode(makeEnvironment, {
      engine,
      retrieverOf: (question) => episodeRetriever(choice, resources, question),
    }),
    // For whoever asks for the index by its version, or whether it answers at all.
    retriever: { ...engine, version: budget === undefined ? named : `${named}-budget-${budget}` },
  };
}

/** Reads what the stand-ins need: the pages of generated questions, or the corpus once. */
export async function openResources(
  { search: { corpus } }: Config,
  { engine, generated, questions }: AnsweringParts,
  needs: "pool" | "gold" | "both" | undefined,
): Promise<StandInResources> {
  const tasks = knownTasks(questions.flatMap((set) => set.tasks));
  if (needs === undefined) return { engine, pool: [], gold: () => undefined };
  if (generated !== undefined && corpus === undefined) {
    const pages = new Map(
      generated.passages.flatMap((page) => passageNames(page).map((name) => [name, page])),
    );
    const gold = (question: Question) =>
      found(goldOf(tasks.get(keyOf(question)) ?? plannedIn(generated, question.id)), (name) =>
        pages.get(name),
      );
    return { engine, pool: generated.passages, gold };
  }
  if (corpus === undefined)
    throw new ConfigError({
      what: "random and gold passages are read from the corpus, and the config names none",
      where: "search.corpus",
      next: "Name the corpus that the index was built from.",
    });
  const wanted = new Set(needs === "pool" ? [] : [...tasks.values()].flatMap(namesOf));
  const { pool, passages } = await readCorpus(corpus, wanted, needs !== "gold");
  const gold = (question: Question) =>
    found(goldOf(tasks.get(keyOf(question))), (name) => passages.get(name));
  return { engine, pool, gold };
}

/** One reading: passages by `id …` or `title …` where wanted, and a uniform sample (Vitter's algorithm R). */
async function readCorpus(corpus: string, wanted: ReadonlySet<string>, sampled: boolean) {
  const passages = new Map<string, Passage>();
  const pool: Passage[] = [];
  const draw = rng(1, "passages at random");
  let n = 0;
  for await (const passage of readPassages(corpus)) {
    for (const name of passageNames(passage))
      if (wanted.has(name) && !passages.has(name)) passages.set(name, passage); // of a title's parts the first
    const place = n < poolSize ? n : draw.int(n + 1);
    if (sampled && place < poolSize) pool[place] = passage;
    n++;
  }
  return { passages, pool };
}

/** Ids of two data sets may be the same; with the question they are one question. */
const keyOf = ({ id, question }: Question) => `${id}\n${question}`;

/** By question; of those that occur twice the one that names gold passages. */
function knownTasks(tasks: readonly Task[]): ReadonlyMap<string, Task> {
  const known = new Map<string, Task>();
  for (const task of tasks)
    if (!known.has(keyOf(task)) || namesOf(task).length > 0) known.set(keyOf(task), task);
  return known;
}

const goldOf = (task: Task | undefined): readonly string[] => (task === undefined ? [] : namesOf(task));

/** A question that is drawn while the run trains. */
function plannedIn(generated: Generated, id: string): Task | undefined {
  try {
    return generated.planned(id).task;
  } catch {
    return undefined;
  }
}

/** All of them, or none where one is missing: half the evidence is no oracle. */
function found(
  names: readonly string[],
  find: (name: string) => Passage | undefined,
): readonly Passage[] | undefined {
  const passages = names.map(find).filter((each) => each !== undefined);
  return names.length > 0 && passages.length === names.length ? passages : undefined;
}

function checkGold({ questions }: AnsweringParts, { gold }: StandInResources): void {
  for (const { name, tasks } of questions) {
    const lacking = tasks.filter((task) => gold(task) === undefined);
    if (lacking.length > 0)
      throw new DataError({
        what: `${lacking.length} of ${tasks.length} questions have no gold passages in the corpus`,
        where: name,
        got: lacking
          .slice(0, 3)
          .map(({ id }) => id)
          .join(", "),
        expected: "supporting ids or titles of every question, for `search.retriever: oracle`",
        next: "Leave those questions out, or measure with `forager search-value`, which does.",
      });
  }
}
