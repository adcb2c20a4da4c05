import { once } from "node:events";
import { z } from "zod";
import {
  CheckpointError,
  ConfigError,
  DataError,
  EnvError,
  InvariantError,
  SamplerError,
} from "../../core/errors.ts";
import { seedOf } from "../../core/rng.ts";
import type { PolicyOutcome } from "../../env/environment.ts";
import type { Chat } from "../../rollout/chat.ts";
import { Deadline } from "../../rollout/deadline.ts";
import type { EpisodeOptions } from "../../rollout/episode.ts";
import type { PlayEpisode } from "../../rollout/groups.ts";
import type { Outcome, Trajectory } from "../../rollout/trajectory.ts";
import type { Agent, AgentSaid } from "./agent.ts";
import type { RecordingProxy } from "./proxy.ts";
import type { Recorded } from "./rollout.ts";
import { SampledBackend } from "./sampled.ts";

export interface AgentPlayer {
  readonly proxy: RecordingProxy;
  readonly agent: Agent;
  readonly chat: Chat;
  /** Most tokens of a call that names no limit; the room in the context unless given. */
  readonly maxTokens?: number;
}

/** Episodes that an agent of the user's own plays by itself, for `rollGroups`. */
export function agentPlayer(player: AgentPlayer): PlayEpisode {
  return (episode) => playAgent(episode, player);
}

/** An episode that was ended before its agent came to an end. */
class Stopped extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome, message: string) {
    super(message);
    this.outcome = outcome;
  }
}

/**
 * Plays one episode by an agent, through a rollout of its own at the proxy. Failures of sampler, agent and clock are
 * outcomes; a bug of ours or the user's mistake is thrown.
 */
async function playAgent(
  episode: EpisodeOptions,
  { proxy, agent, chat, maxTokens }: AgentPlayer,
): Promise<Trajectory> {
  const { task, member, sampler, tokenizer, decoding, seed, step, signal, deadlines } = episode;
  const { attempt = 0, key = task.id } = episode;
  const start = performance.now();
  const end = new AbortController();
  const cancel = () => end.abort(new Stopped("cancelled", "the run was stopped"));
  const ms = deadlines?.episodeMs ?? 0;
  const deadline = new Deadline(ms, () => end.abort(new Stopped("infra(timeout)", `no end within ${ms} ms`)));
  const path = ["sample", step, key, member, ...(attempt > 0 ? [`attempt ${attempt}`] : [])];
  const backend = new SampledBackend({
    ...{ sampler, tokenizer, chat, decoding },
    sequence: `${step}/${key}/${member}/${attempt}/agent`,
    group: `${step}/${key}`,
    seedOfCall: (call) => seedOf(seed, ...path, call),
    ...(maxTokens !== undefined && { maxTokens }),
  });
  const rollout = proxy.open({
    backend,
    ...(deadlines?.countSampling === false && {
      onWaiting: (waiting) => (waiting ? deadline.pause() : deadline.resume()),
    }),
  });
  if (signal?.aborted) cancel();
  else signal?.addEventListener("abort", cancel, { once: true });

  let said: AgentSaid | undefined;
  let failure: unknown;
  try {
    if (!end.signal.aborted) {
      const given = { question: task.question, questionId: task.id, baseUrl: rollout.baseUrl };
      const played = play(agent, { ...given, apiKey: proxy.apiKey ?? "forager", signal: end.signal });
      played.catch(() => {}); // Abandoned when the episode is stopped; its end is nobody's business then.
      said = await Promise.race([played, once(end.signal, "abort").then(() => undefined)]);
    }
  } catch (error) {
    failure = error;
  } finally {
    deadline.end();
    signal?.removeEventListener("abort", cancel);
  }
  const recorded = await rollout.close();
  const stopped = end.signal.aborted ? (end.signal.reason as Stopped) : undefined;
  const verdict = stopped ?? blame(recorded, failure);
  const record = {
    ...{ task, member, sequences: recorded.sequences, temperature: decoding.temperature },
    seconds: (performance.now() - start) / 1000,
  };
  if (verdict === undefined) return { ...record, ...endingOf(recorded, said) };
  const failed = verdict.outcome.startsWith("infra(");
  return { ...record, outcome: verdict.outcome, ...(failed && { failure: verdict.message }) };
}

const saidSchema = z.looseObject({ answer: z.string().optional(), reward: z.number().optional() }).optional();

async function play(agent: Agent, given: Parameters<Agent>[0]): Promise<AgentSaid | undefined> {
  const parsed = saidSchema.safeParse((await agent(given)) ?? undefined);
  if (parsed.success) return parsed.data as AgentSaid | undefined;
  const issue = parsed.error.issues[0];
  throw new EnvError({
    what: "an agent returned what cannot be read",
    where: `question ${given.questionId}`,
    got: `${issue?.path.join(".") || "result"}: ${issue?.message}`,
    expected: "nothing, or { answer?: string, reward?: a finite number }",
  });
}

const thrown = [ConfigError, DataError, CheckpointError, EnvError, InvariantError];

/** Why the episode is lost, if it is. Throws what is nobody's doing: a bug or the user's mistake. */
function blame({ failure: policy, sequences, tally }: Recorded, failure: unknown): Stopped | undefined {
  if (policy instanceof SamplerError) return new Stopped("infra(model)", policy.message);
  if (policy !== undefined) throw policy;
  if (thrown.some((kind) => failure instanceof kind)) throw failure;
  if (sequences.length === 0) {
    const why =
      tally.full > 0 ? "its first prompt does not fit into the context" : "it never asked the model";
    return new Stopped("infra(agent)", failure === undefined ? why : messageOf(failure));
  }
  // It was the policy that wrote so much: an agent may well break off then.
  if (failure !== undefined && tally.full === 0) return new Stopped("infra(agent)", messageOf(failure));
  return undefined;
}

const messageOf = (failure: unknown) => (failure instanceof Error ? failure.message : String(failure));

/** How an episode ended that the agent brought to an end. */
function endingOf({ posted = {}, sequences, tally }: Recorded, said: AgentSaid = {}) {
  const answer = posted.answer ?? said.answer;
  const reward = posted.reward ?? said.reward;
  const last = sequences.at(-1)?.segments.at(-1)?.finish;
  const cut = tally.full > 0 || last === "length" || last === "context";
  const given = answer !== undefined || reward !== undefined;
  const outcome: PolicyOutcome = posted.outcome ?? (given ? "answered" : cut ? "length" : "no_answer");
  const agent = { ...(answer !== undefined && { answer }), ...(reward !== undefined && { reward }) };
  const none = { searches: [], invalidActions: 0, observationTokensCut: 0 };
  return { outcome, ending: { outcome, turns: tally.calls, ...none, agent } };
}
