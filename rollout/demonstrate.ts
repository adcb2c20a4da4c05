import type { Seat } from "../env/environment.ts";
import { type EpisodeOptions, rollEpisode } from "./episode.ts";
import type { Sampler } from "./sampler.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { Trajectory } from "./trajectory.ts";

/**
 * Plays a demonstrator through the environment, so that its episode has the same ledger as the policy's own:
 * its turns are policy segments (with log-probability 0: they were not sampled, so only SFT may use them).
 */
export function demonstrate(
  o: Omit<EpisodeOptions, "sampler" | "decoding"> & { readonly expert: Seat; readonly contextTokens: number },
): Promise<Trajectory> {
  const { expert, contextTokens, ...episode } = o;
  return rollEpisode({
    ...episode,
    sampler: expertSampler(expert, o.tokenizer, contextTokens),
    decoding: { temperature: 1, topP: 1, topK: 0 },
  });
}

/** The expert is told what came since its last turn and answers in tokens; where its text ends, end of text is said. */
function expertSampler(expert: Seat, tokenizer: Tokenizer, contextTokens: number): Sampler {
  let seen = 0;
  return {
    contextTokens,
    async sample({ prompt, params }) {
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
