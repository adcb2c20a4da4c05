import type { Seat } from "../env/environment.ts";
import { type EpisodeOptions, rollEpisode } from "./episode.ts";
import type { Sampler } from "./sampler.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { Trajectory } from "./trajectory.ts";

/**
 * Plays a demonstrator through the environment, so that its episode has the same ledger as the policy's own:
 * its turns are policy segments (with log-probability 0: they were not sampled, so only SFT may use them).
 */
export async function demonstrate(
  o: Omit<EpisodeOptions, "sampler" | "decoding"> & {
    /** One for each seat by its name, or one for the only seat. */
    readonly expert: Seat | Readonly<Record<string, Seat>>;
    readonly contextTokens: number;
  },
): Promise<Trajectory> {
  const { expert, contextTokens, ...episode } = o;
  const one = isSeat(expert) ? expert : undefined;
  const seats = isSeat(expert) ? {} : expert;
  const samplers = new Map<string, Sampler>();
  const samplerOf = (name: string): Sampler => {
    const known = samplers.get(name);
    if (known) return known;
    const made = expertSampler(one ?? seats[name]!, o.tokenizer, contextTokens);
    samplers.set(name, made);
    return made;
  };
  const trajectory = await rollEpisode({
    ...episode,
    sampler: {
      contextTokens,
      sample: (request, signal) => samplerOf(request.seat ?? "").sample(request, signal),
      release() {},
    },
    decoding: { temperature: 1, topP: 1, topK: 0 },
  });
  return { ...trajectory, unsampled: true };
}

const isSeat = (expert: Seat | Readonly<Record<string, Seat>>): expert is Seat =>
  typeof expert.act === "function";

/** The expert is told what came since its last turn and answers in tokens; where its text ends, end of text is said. */
export function expertSampler(expert: Seat, tokenizer: Tokenizer, contextTokens: number): Sampler {
  let seen = 0;
  let of: string | undefined;
  return {
    contextTokens,
    async sample({ sequence, prompt, params }) {
      if (of !== sequence) seen = 0; // the conversation began anew
      of = sequence;
      await expert.observe(tokenizer.decode(prompt.slice(seen)));
      const { text, finish } = await expert.act({ stop: params.stop, maxTokens: params.maxTokens });
      const ended = finish === "eos";
      const tokens = [...tokenizer.encode(text), ...(ended ? tokenizer.eosIds.slice(0, 1) : [])];
      seen = prompt.length + tokens.length;
      return { tokens, logprobs: tokens.map(() => 0), text, finish: ended ? "eos" : "stop", version: 0 };
    },
    release() {},
  };
}
