import type { Config } from "../configs/schema.ts";
import { ConfigError, ToolError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { Environment } from "../env/environment.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { posted } from "../reward/posted.ts";
import type { OwnPart } from "../reward/scorer.ts";
import { plainChat, templateChat } from "../rollout/chat.ts";
import type { PlayEpisode } from "../rollout/groups.ts";
import { loadChatTemplate } from "../rollout/renderer.ts";
import { type Agent, commandAgent } from "../serve/proxy/agent.ts";
import { agentPlayer } from "../serve/proxy/agent-episode.ts";
import { startProxy } from "../serve/proxy/proxy.ts";
import type { Extensions } from "./extensions.ts";

/** Does an agent of the user's own play the episodes? */
export const hasAgent = ({ env }: Config): boolean => env.name === "agent";

/** The part that an agent's episodes are rewarded by, beside ours: what was posted, else exact match. */
export function agentRewards(config: Config): Readonly<Record<string, OwnPart>> {
  return hasAgent(config) ? { posted } : {};
}

/** What stands where other runs have their environment: an agent needs no seat. */
export const agentEnvironment: Environment = {
  name: "agent",
  seats: [],
  async play() {
    throw new ConfigError({
      what: "an agent plays its episodes by itself: no other can take the policy's seat",
      where: "env.name",
      got: "agent",
    });
  },
};

/** An agent brings its own tools. */
export const noRetriever: Retriever = {
  version: "none",
  size: 0,
  async search() {
    throw new ToolError({ what: "there is nothing to search in: an agent brings its own tools" });
  },
  async close() {},
};

/** The agent that a config names. @throws ConfigError for one that is not there */
export function agentOf({ env }: Config, extensions: Extensions | undefined): Agent {
  if (env.command) return commandAgent({ command: env.command });
  const own = extensions?.agents ?? {};
  const agent = env.agent === undefined ? undefined : own[env.agent];
  if (agent) return agent;
  const close = env.agent === undefined ? undefined : nearest(env.agent, Object.keys(own));
  throw new ConfigError({
    what: `there is no agent \`${env.agent}\``,
    where: "env.agent",
    expected: Object.keys(own).join(", ") || "one given to defineForager({ agents })",
    next: close
      ? `Did you mean \`${close}\`?`
      : "Add yours with defineForager({ agents }), or name a command.",
  });
}

/** What `rollGroups` needs so that the agent plays. */
export interface OpenAgent {
  readonly episodes: { readonly play: PlayEpisode; readonly atOnce: number };
  close(): Promise<void>;
}

/** Starts the proxy that a config's agent speaks to; undefined where no agent plays. @throws ConfigError, DataError */
export async function openAgent(
  config: Config,
  extensions: Extensions | undefined,
): Promise<OpenAgent | undefined> {
  if (!hasAgent(config)) return undefined;
  const { env, model, rollout } = config;
  const agent = agentOf(config, extensions);
  const template =
    model.path === undefined || rollout.prompt.format === "plain" ? undefined : loadChatTemplate(model.path);
  const chat = template ? templateChat(template) : plainChat;
  const proxy = await startProxy();
  return {
    episodes: {
      play: agentPlayer({ proxy, agent, chat, maxTokens: env.turnTokens }),
      // Each may be a process: not all of a step's at once.
      atOnce: rollout.concurrency,
    },
    close: () => proxy.close(),
  };
}
