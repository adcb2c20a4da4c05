import { EnvError, InvariantError, SamplerError, ToolError } from "../core/errors.ts";
import { seedOf } from "../core/rng.ts";
import { questionOf, type Task } from "../datasets/task.ts";
import type { Ending, Environment, PolicyOutcome } from "../env/environment.ts";
import { Deadline } from "./deadline.ts";
import { isTextPolicy } from "./player-seat.ts";
import { makePrompt, type Prompt } from "./prompt.ts";
import type { Sampler } from "./sampler.ts";
import { type Decoding, PolicySeat } from "./seat.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";
import type { Outcome, Sequence, Trajectory } from "./trajectory.ts";

export interface Deadlines {
  /** Longest an episode may take, in milliseconds; 0 is no limit. */
  readonly episodeMs: number;
  /** False: time spent waiting for the sampler does not count (an in-process policy samples for all at once). */
  readonly countSampling: boolean;
}

export interface EpisodeOptions {
  readonly task: Task;
  /** Place in the group. */
  readonly member: number;
  readonly environment: Environment;
  readonly sampler: Sampler;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly decoding: Decoding;
  readonly seed: number;
  readonly step: number;
  readonly signal?: AbortSignal;
  readonly deadlines?: Deadlines;
  /** 0 is the first; an episode that infrastructure broke is played again under the next. */
  readonly attempt?: number;
  /** Tells apart two groups of one task in one step; the task's id unless given. */
  readonly key?: string;
  /** The task's prompt, when it has been made already. */
  readonly prompt?: Prompt;
  /** Who plays a seat in the policy's place. What such a player says is never trained on. */
  readonly players?: ((seat: string, task: Task, member: number) => Sampler | undefined) | undefined;
}

/**
 * Plays one episode. Failures of tools, sampler and clock are outcomes, never thrown and never a reward;
 * anything else that is thrown is a bug, or the user's mistake, and passes through.
 */
export async function rollEpisode(options: EpisodeOptions): Promise<Trajectory> {
  const { task, member, environment, sampler, tokenizer, renderer, signal } = options;
  const { attempt = 0, key = task.id, deadlines } = options;
  const start = performance.now();
  const prompt = () => options.prompt ?? makePrompt(task, renderer, tokenizer, sampler.contextTokens);
  const controller = new AbortController();
  let stopped: Outcome | undefined;
  let halt = () => {};
  const halted = new Promise<undefined>((resolve) => {
    halt = () => resolve(undefined);
  });
  const stop = (outcome: Outcome) => {
    stopped ??= outcome;
    controller.abort();
    halt();
  };
  const cancel = () => stop("cancelled");
  const deadline = new Deadline(deadlines?.episodeMs ?? 0, () => stop("infra(timeout)"));
  const onSampling =
    deadlines && !deadlines.countSampling
      ? (sampling: boolean) => (sampling ? deadline.pause() : deadline.resume())
      : undefined;

  const path = ["sample", options.step, key, member, ...(attempt > 0 ? [`attempt ${attempt}`] : [])];
  const players = environment.seats.map((name) => options.players?.(name, task, member));
  const seats = environment.seats.map((name, i) => {
    const player = players[i] ?? sampler;
    const words = environment.prompts?.[name];
    // One seat draws by the plain path; further seats add their name.
    const seatPath = i === 0 ? path : [...path, name];
    const place = {
      name,
      tokenizer,
      decoding: options.decoding,
      group: `${options.step}/${key}`,
      sequence: `${options.step}/${key}/${member}/${attempt}/${name}`,
      seedOfTurn: (turn: number) => seedOf(options.seed, ...seatPath, turn),
      signal: controller.signal,
      onSampling,
    };
    if (isTextPolicy(player)) return player.takeSeat({ ...place, question: task.question, words });
    const opening =
      words === undefined ? prompt() : makePrompt(task, renderer, tokenizer, player.contextTokens, words);
    return new PolicySeat({ ...place, prompt: opening, sampler: player, renderer });
  });

  let ending: Ending | undefined;
  let failure: unknown;
  if (signal?.aborted) cancel();
  else signal?.addEventListener("abort", cancel, { once: true });
  try {
    if (stopped === undefined) {
      const named = Object.fromEntries(seats.map((seat, i) => [environment.seats[i] as string, seat]));
      const played = environment.play(questionOf(task), named, controller.signal);
      played.catch(() => {}); // Abandoned when the episode is stopped; its end is nobody's business then.
      ending = await Promise.race([played, halted]);
      failure = seats.find((seat) => seat.failure instanceof SamplerError)?.failure;
    }
  } catch (error) {
    failure = error;
  } finally {
    deadline.end();
    signal?.removeEventListener("abort", cancel);
    for (const seat of seats) {
      seat.close();
      sampler.release(seat.sequenceName); // no other player keeps anything by that name
    }
  }

  const outcome = stopped ?? blame(failure) ?? policyOutcome(ending, environment);
  return {
    task,
    member,
    sequences: spoken(
      seats.flatMap((seat, i) => {
        const outside = players[i] === undefined ? {} : { outside: true as const };
        return seat.sequences().map((sequence) => ({ ...sequence, ...outside }));
      }),
    ),
    outcome,
    ...(outcome === ending?.outcome && { ending }),
    ...(failure !== undefined && stopped === undefined && { failure: (failure as Error).message }),
    ...(stopped === "infra(timeout)" && { failure: `no end within ${deadlines?.episodeMs} ms` }),
    temperature: options.decoding.temperature,
    seconds: (performance.now() - start) / 1000,
  };
}

/** Of several sequences those in which somebody said something: a seat that nobody called has nothing to tell. */
function spoken(sequences: readonly Sequence[]): readonly Sequence[] {
  const said = sequences.filter(({ segments }) => segments.some(({ source }) => source === "policy"));
  return sequences.length === 1 || said.length === 0 ? sequences.slice(0, 1) : said;
}

/** Whose failure it was. Throws what is nobody's: a bug or the user's mistake. */
function blame(failure: unknown): Outcome | undefined {
  if (failure === undefined) return undefined;
  if (failure instanceof ToolError) return "infra(retriever)";
  if (failure instanceof SamplerError) return "infra(model)";
  throw failure;
}

const policyOutcomes: readonly PolicyOutcome[] = ["answered", "no_answer", "turn_limit", "length", "invalid"];

function policyOutcome(ending: Ending | undefined, environment: Environment): PolicyOutcome {
  if (ending === undefined) throw new InvariantError({ what: "an episode came to no end" });
  if (policyOutcomes.includes(ending.outcome)) return ending.outcome;
  throw new EnvError({
    what: "unknown outcome",
    where: environment.name,
    got: String(ending.outcome),
    expected: policyOutcomes.join(", "),
    next: "Run checkEnvironment on it.",
  });
}
