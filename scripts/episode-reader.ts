import type { Config } from "../configs/schema.ts";
import { zip } from "../core/zip.ts";
import { breaksProtocol } from "../env/team/breaks.ts";
import { openingsOf, seatsOf } from "../env/team/team.ts";
import { plainChat, templateChat } from "../rollout/chat.ts";
import type { Wording } from "../rollout/conversation.ts";
import { type ChatTemplate, wordingOf } from "../rollout/renderer.ts";
import type { EpisodeReader } from "../rollout/stored-episode.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import { hasTeam, teamOf } from "./team.ts";

/** How a config words its episodes: their prompts, a team's roles each with their own, and their frames. */
export function wordingFor(
  config: Pick<Config, "rollout" | "env">,
  o: {
    readonly tokenizer: Tokenizer;
    readonly renderer: Renderer;
    readonly template: ChatTemplate | undefined;
  },
): Wording {
  const { rollout, env } = config;
  const team = hasTeam(config) ? teamOf(config) : undefined;
  return {
    tokenizer: o.tokenizer,
    renderer: o.renderer,
    observation: { open: env.observationOpen, close: env.observationClose },
    ...wordingOf(rollout.prompt, o.template),
    ...(team && {
      words: Object.fromEntries(zip(seatsOf(team), openingsOf(team))),
      broke: (seat, turn, next) => breaksProtocol(seat, turn, next?.source === "observation"),
    }),
  };
}

/** What turns stored episodes into a config's tokens: its prompts, its frames, its marks of observations. */
export function episodeReader(
  { rollout, env }: Pick<Config, "rollout" | "env">,
  o: {
    readonly tokenizer: Tokenizer;
    readonly renderer: Renderer;
    readonly template: ChatTemplate | undefined;
  },
): EpisodeReader {
  const { format } = wordingOf(rollout.prompt, o.template);
  return {
    tokenizer: o.tokenizer,
    renderer: o.renderer,
    chat: format === "chat" && o.template ? templateChat(o.template) : plainChat,
    observation: {
      open: env.observationOpen,
      close: env.observationClose,
      maxTokens: env.observationTokens,
    },
  };
}
