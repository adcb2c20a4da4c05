import { DataError } from "../core/errors.ts";
import { type Rng, rng } from "../core/rng.ts";
import { epochs } from "../datasets/batch.ts";
import { drawHops, type HopMix } from "../datasets/curriculum.ts";
import type { NamedFamily } from "../datasets/families/families.ts";
import { readPassages } from "../datasets/jsonl.ts";
import type { Passage, Task } from "../datasets/task.ts";
import { clusterSize } from "../datasets/world/relations.ts";
import type { World } from "../datasets/world.ts";
import type { EnvConfig } from "../env/config.ts";
import type { Environment, Seat } from "../env/environment.ts";
import { familySeat } from "../env/experts/families.ts";
import { expertHabits, type Habits } from "../env/experts/habits.ts";
import { passageExpert } from "../env/experts/passages.ts";
import { expertSeat } from "../env/experts/turns.ts";
import { memoryRetriever } from "../env/search/memory.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { type TeamExpert, type TeamHabits, teamHabits } from "../env/team/experts/expert.ts";
import { expertSeats } from "../env/team/experts/seats.ts";
import { rolesOf } from "../env/team/team.ts";
import { indicesPerDraw } from "../rl/sft.ts";
import { demonstrate } from "../rollout/demonstrate.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Setup } from "./setup.ts";
import { familyTeam, hasTeam, teamOf, worldTeam } from "./team.ts";

/** Demonstration number `index`; the same index gives the same one. Undefined where the expert could not show it. */
export type Demonstrate = (index: number) => Promise<Trajectory | undefined>;

/** Which demonstrators a stage of the warm-up asks for. */
export interface ExpertStage {
  readonly habits: string;
  /** A team in which roles are missing now and then. */
  readonly vary?: boolean | undefined;
  readonly hopMix: HopMix;
  readonly steps: number;
}

/** The scripted demonstrators of the config: over fresh worlds, a family's tasks, or the supporting passages of real questions. */
export async function scriptedExperts(setup: Setup, stage: ExpertStage): Promise<Demonstrate> {
  const { world, family } = setup;
  if (world) return generatedExperts(setup, stage, worldLessons(setup, world, stage));
  if (family) return generatedExperts(setup, stage, familyLessons(setup, family));
  return passageExperts(setup, expertHabits(stage.habits));
}

/** What demonstrators of generated tasks have to show, and who they are. */
interface Lessons {
  /** What can be searched. */
  readonly passages: readonly Passage[];
  draw(random: Rng): Task;
  team(task: Task, o: { habits: TeamHabits; seed: number; member: number }): TeamExpert;
  single(task: Task, habits: Habits, random: Rng): Seat;
}

/** Entities that one demonstration touches, on average, and token slots that it fills. */
const [entitiesEach, slotsEach] = [2.5, 100];

/**
 * One fresh world for the whole warm-up, of names that neither training nor any benchmark uses and, as far as
 * there are names, so many that hardly an entity comes twice: what is learnt is reading and not facts.
 * (With a new small world every few steps the policy learnt that world's names by heart instead, and never to read.)
 */
function worldLessons({ config }: Setup, world: World, { hopMix, steps }: ExpertStage): Lessons {
  const wanted = Math.ceil((steps * config.sft.slots * entitiesEach) / (slotsEach * clusterSize));
  const fresh = world.freshClusters(0, Math.max(4, Math.min(wanted, world.spareClusters)));
  const clusters = fresh.splits.train[1];
  return {
    passages: fresh.passages,
    draw(random) {
      const hops = drawHops(hopMix, 1, random)[0]!;
      return fresh.question(random, random.int(clusters), hops).task;
    },
    team: (task, o) => worldTeam(fresh, task, o),
    single: (task, habits, random) => expertSeat(fresh.planned(task.id).plan, habits, random),
  };
}

/** Training tasks of the levels that are trained on, as many of each: `hopMix` is the world's alone. */
function familyLessons({ config }: Setup, family: NamedFamily): Lessons {
  const { train } = config.data;
  const levels = train.kind === "family" ? [...new Set(train.difficulty)] : [1];
  return {
    passages: family.family.passages,
    draw(random) {
      const level = random.pick(levels);
      return family.family.task({ split: "train", level, index: random.int(2 ** 31) }).task;
    },
    team: (task, o) => familyTeam(family, task, o),
    single: (task, habits, random) => familySeat(family, task.id, habits, random),
  };
}

function generatedExperts(setup: Setup, { habits, vary }: ExpertStage, lessons: Lessons): Demonstrate {
  const { config, tokenizer, renderer } = setup;
  const { seed } = config.run;
  const retriever = memoryRetriever(lessons.passages, config.search.maxDocumentShare);
  const whole = setup.makeEnvironment(retriever, shownEnv(setup));
  const teams = vary ? variedTeams(setup, retriever) : undefined;
  const expertOf = (task: Task, member: number, random: Rng, { seats }: Environment) =>
    hasTeam(config)
      ? expertSeats(lessons.team(task, { habits: teamHabits(habits), seed, member }), seats)
      : lessons.single(task, expertHabits(habits), random);
  return async (index) => {
    const random = rng(seed, "demonstration", index);
    const task = lessons.draw(random);
    const environment = teams?.(random) ?? whole;
    return demonstrate({
      task,
      member: index % indicesPerDraw,
      environment,
      tokenizer,
      renderer,
      seed,
      step: Math.floor(index / indicesPerDraw),
      expert: expertOf(task, index, random, environment),
      contextTokens: setup.start.config.contextTokens,
    });
  };
}

/** A team that plays without feedback has seen what feedback is for: its warm-up shows the whole loop. */
const shownEnv = ({ config: { env } }: Setup): EnvConfig =>
  env.team === undefined ? env : { ...env, team: { ...env.team, feedback: true } };

/** How often each role that is on plays in a varied team. */
const present = 0.7;

/** The config's team with some of its roles missing, drawn anew for each episode: one policy learns to play them all. */
function variedTeams(setup: Setup, retriever: Retriever): (random: Rng) => Environment {
  const { makeEnvironment } = setup;
  const env = shownEnv(setup);
  const section = teamOf({ env });
  const optional = rolesOf(section).filter((role) => role !== "drafter");
  const made = new Map<string, Environment>();
  return (random) => {
    const missing = optional.filter(() => random() >= present);
    const key = missing.join(" ");
    const off = Object.fromEntries(missing.map((role) => [role, { ...section.roles[role], on: false }]));
    const team = { ...section, roles: { ...section.roles, ...off } };
    const environment = made.get(key) ?? makeEnvironment(retriever, { ...env, team });
    made.set(key, environment);
    return environment;
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
