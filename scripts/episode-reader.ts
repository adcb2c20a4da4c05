import type { Config } from "../configs/schema.ts";
import { plainChat, templateChat } from "../rollout/chat.ts";
import { type ChatTemplate, wordingOf } from "../rollout/renderer.ts";
import type { EpisodeReader } from "../rollout/stored-episode.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";

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
