import { DataError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { epochs } from "../datasets/batch.ts";
import { drawHops, type HopMix } from "../datasets/curriculum.ts";
import { readPassages } from "../datasets/jsonl.ts";
import type { Passage } from "../datasets/task.ts";
import { clusterSize } from "../datasets/world/relations.ts";
import type { World } from "../datasets/world.ts";
import { expertHabits, type Habits } from "../env/experts/habits.ts";
import { passageExpert } from "../env/experts/passages.ts";
import { expertSeat } from "../env/experts/turns.ts";
import { memoryRetriever } from "../env/search/memory.ts";
import { indicesPerDraw } from "../rl/sft.ts";
import { demonstrate } from "../rollout/demonstrate.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Setup } from "./setup.ts";

/** Demonstration number `index`; the same index gives the same one. Undefined where the expert could not show it. */
export type Demonstrate = (index: number) => Promise<Trajectory | undefined>;

/** Which demonstrators a stage of the warm-up asks for. */
export interface ExpertStage {
  readonly habits: string;
  readonly hopMix: HopMix;
  readonly steps: number;
}

/** The scripted demonstrators of the config: over fresh worlds, or over the supporting passages of real questions. */
export async function scriptedExperts(setup: Setup, stage: ExpertStage): Promise<Demonstrate> {
  const habits = expertHabits(stage.habits);
  return setup.world ? worldExperts(setup, setup.world, habits, stage) : passageExperts(setup, habits);
}

/** Entities that one demonstration touches, on average, and token slots that it fills. */
const [entitiesEach, slotsEach] = [2.5, 100];

/**
 * One fresh world for the whole warm-up, of names that neither training nor any benchmark uses and, as far as
 * there are names, so many that hardly an entity comes twice: what is learnt is reading and not facts.
 * (With a new small world every few steps the policy learnt that world's names by heart instead, and never to read.)
 */
function freshWorld({ config }: Setup, world: World, steps: number): World {
  const wanted = Math.ceil((steps * config.sft.slots * entitiesEach) / (slotsEach * clusterSize));
  const clusters = Math.max(4, Math.min(wanted, world.spareClusters));
  return world.freshClusters(0, clusters);
}

function worldExperts(
  setup: Setup,
  world: World,
  habits: Habits,
  { hopMix, steps }: ExpertStage,
): Demonstrate {
  const { config, tokenizer, renderer } = setup;
  const { seed } = config.run;
  const fresh = freshWorld(setup, world, steps);
  const clusters = fresh.splits.train[1];
  const environment = setup.makeEnvironment(memoryRetriever(fresh.passages, config.search.maxDocumentShare));
  return async (index) => {
    const random = rng(seed, "demonstration", index);
    const hops = drawHops(hopMix, 1, random)[0]!;
    const { task, plan } = fresh.question(random, random.int(clusters), hops);
    return demonstrate({
      task,
      member: index % indicesPerDraw,
      environment,
      tokenizer,
      renderer,
      seed,
      step: Math.floor(index / indicesPerDraw),
      expert: expertSeat(plan, habits, random),
      contextTokens: setup.start.config.contextTokens,
    });
  };
}

async function passageExperts(setup: Setup, habits: Habits): Promise<Demonstrate> {
  const { config, tokenizer, renderer, environment } = setup;
  const { seed } = config.run;
  const tasks = (setup.trainTasks ?? []).filter((task) => (task.supportingIds?.length ?? 0) > 0);
  const wanted = new Set(tasks.flatMap((task) => task.supportingIds ?? []));
  const passages = new Map<string, Passage>();
  if (config.search.corpus && wanted.size > 0)
    for await (const passage of readPassages(config.search.corpus))
      if (wanted.has(passage.id)) passages.set(passage.id, passage);
  const able = tasks.filter((task) => task.supportingIds!.every((id) => passages.has(id)));
  if (able.length === 0)
    throw new DataError({
      what: "the scripted demonstrators have nothing to show",
      where: "sft.source",
      got: `${tasks.length} questions with supporting passages, ${passages.size} of their passages found in the corpus`,
      expected: "questions with `supporting_ids` that are in search.corpus",
      next: "Add supporting_ids to the questions, name search.corpus, or set sft.steps=0.",
    });
  const order = epochs(able, seed, "demonstration order");
  return async (index) => {
    const task = order(Math.floor(index / able.length))[index % able.length]!;
    const expert = passageExpert(
      {
        question: task.question,
        goldenAnswers: task.goldenAnswers,
        passages: task.supportingIds!.map((id) => passages.get(id)!),
      },
      { habits, draw: rng(seed, "demonstration", index), maxSearches: config.env.maxTurns - 1 },
    );
    const trajectory = await demonstrate({
      task,
      member: index,
      environment,
      tokenizer,
      renderer,
      seed,
      step: 0,
      expert,
      contextTokens: setup.start.config.contextTokens,
    });
    // An expert whose searches did not surface the evidence would teach to answer without it.
    const asMeant = expert.complete() || expert.stoppedEarly();
    return asMeant && trajectory.outcome === "answered" ? trajectory : undefined;
  };
}
