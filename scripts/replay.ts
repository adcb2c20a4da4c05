import { ConfigError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import type { Seat } from "../env/environment.ts";
import { expertHabits } from "../env/experts/habits.ts";
import { expertSeat } from "../env/experts/turns.ts";
import { teamHabits } from "../env/team/experts/expert.ts";
import { expertSeats } from "../env/team/experts/seats.ts";
import { rolesOf } from "../env/team/team.ts";
import { demonstrate } from "../rollout/demonstrate.ts";
import type { ChatPolicy } from "../rollout/endpoint/chat.ts";
import { rollEpisode } from "../rollout/episode.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Setup } from "./setup.ts";
import { hasTeam, scriptedTeam, teamOf } from "./team.ts";

/** Plays tasks once more, without the policy. */
export interface Replay {
  /** @param index tells apart the episodes of one command */
  play(task: Task, index: number, signal: AbortSignal): Promise<Trajectory>;
  /** Who says that an episode is right, beside the exact match with its gold answer. */
  readonly verifiedBy: string;
}

/**
 * Scripted demonstrators where the world or the family is known, the verifier's place taken by the model where one is
 * named; for other questions the model in every place.
 * @throws ConfigError where nobody can play
 */
export function replayOf(
  setup: Setup,
  o: {
    readonly habits: string | undefined;
    readonly model?: { readonly policy: ChatPolicy; readonly name: string } | undefined;
  },
): Replay {
  const { config, environment, tokenizer, renderer } = setup;
  const { seed } = config.run;
  const shared = { environment, tokenizer, renderer, seed, step: 0 };
  const { model } = o;
  const habits = o.habits ?? (hasTeam(config) ? "careful" : "clean");
  const expertOf = expertsOf(setup, habits);
  if (model && !expertOf) {
    const decoding = { temperature: 1, topP: 1, topK: 0 };
    return {
      verifiedBy: hasTeam(config) ? `verifier ${model.name}` : model.name,
      play: (task, member, signal) =>
        rollEpisode({ ...shared, task, member, signal, sampler: model.policy, decoding }),
    };
  }
  if (!expertOf)
    throw new ConfigError({
      what: "nobody can play these questions: demonstrators know the synthetic world, and a team's the families too",
      where: "--url",
      got: `env.name: ${config.env.name}, data.train.kind: ${config.data.train.kind}`,
      next: "Name a model with --url and --model.",
    });
  if (model && !(hasTeam(config) && rolesOf(teamOf(config)).includes("verifier")))
    throw new ConfigError({
      what: "there is no verifier for the model to be",
      where: "--url",
      got: `env.name: ${config.env.name}`,
      next: "Leave --url out, or switch the verifier on.",
    });
  const players = model && {
    players: (seat: string) => (seat === "verifier" ? model.policy : undefined),
  };
  return {
    verifiedBy: model ? `verifier ${model.name}` : `demonstrators (${habits})`,
    play: (task, member, signal) =>
      demonstrate({
        ...shared,
        ...players,
        ...{ task, member, signal, expert: expertOf(task, member) },
        contextTokens: setup.start.config.contextTokens,
      }),
  };
}

type ExpertOf = (task: Task, member: number) => Seat | Readonly<Record<string, Seat>>;

function expertsOf({ config, world, family, environment }: Setup, habits: string): ExpertOf | undefined {
  const { seed } = config.run;
  if (hasTeam(config)) {
    const teamFor = scriptedTeam({ ...(world && { world }), ...(family && { family }) });
    const own = teamFor && teamHabits(habits);
    return (
      own && ((task, member) => expertSeats(teamFor(task, { habits: own, seed, member }), environment.seats))
    );
  }
  if (!world || config.env.name !== "researcher") return undefined;
  const own = expertHabits(habits);
  return (task, member) =>
    expertSeat(world.planned(task.id).plan, own, rng(seed, "cache expert", task.id, member));
}
