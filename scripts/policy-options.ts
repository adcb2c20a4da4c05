import type { Argv } from "yargs";
import { ConfigError } from "../core/errors.ts";
import type { Extensions } from "./extensions.ts";
import { checkPolicy, type OpenPolicy, openPolicy, policyKinds } from "./open-policy.ts";
import type { Output } from "./output.ts";
import { openRemotePolicy } from "./remote-policy.ts";
import type { Setup } from "./setup.ts";

/** --policy and --step, for the commands that look at a policy. */
export function withPolicy<T>(yargs: Argv<T>) {
  return yargs
    .option("policy", {
      type: "string",
      describe: `${policyKinds}; default: the config's model`,
    })
    .option("step", {
      type: "number",
      describe: "of a run folder: the checkpoint after this many RL steps; default: the last",
    })
    .option("endpoint", {
      type: "string",
      array: true,
      describe: "in place of --policy: server that samples (vLLM's API); several are replicas of one model",
    })
    .option("model", { type: "string", describe: "with --endpoint: the served model or adapter" })
    .option("chat", {
      type: "boolean",
      default: false,
      describe: "with --endpoint: by chat completions, for models that give no token ids",
    })
    .option("apiKeyEnv", {
      type: "string",
      describe: "with --endpoint: name of the environment variable that holds its key",
    });
}

export interface PolicyArguments {
  readonly policy?: string | undefined;
  readonly step?: number | undefined;
  readonly endpoint?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly chat: boolean;
  readonly apiKeyEnv?: string | undefined;
}

/** Checks what can be checked before anything is opened. @throws ConfigError */
export function checkPolicyArguments(args: PolicyArguments, extensions: Extensions | undefined): void {
  const { policy, step, endpoint } = args;
  if (endpoint !== undefined && (policy !== undefined || step !== undefined))
    throw new ConfigError({
      what: "two policies",
      got: `--endpoint and ${policy === undefined ? "--step" : "--policy"}`,
      next: "Give one of them.",
    });
  const orphan = (["model", "chat", "apiKeyEnv"] as const).find((key) => args[key]);
  if (endpoint === undefined && orphan !== undefined)
    throw new ConfigError({
      what: `--${orphan === "apiKeyEnv" ? "api-key-env" : orphan} says something of a server, and none is named`,
      next: "Add --endpoint URL.",
    });
  if (endpoint === undefined) checkPolicy(policy, { step, extensions: extensions ?? {} });
}

/** Opens what the options name: a server's policy, ours, or the config's own. */
export async function openNamedPolicy(
  args: PolicyArguments,
  setup: Setup,
  o: { output: Output; signal: AbortSignal; extensions: Extensions | undefined },
): Promise<OpenPolicy> {
  const { policy, step, endpoint } = args;
  return endpoint === undefined
    ? openPolicy(policy, setup, { step, ...(o.extensions ? { extensions: o.extensions } : {}) })
    : openRemotePolicy({ ...args, endpoint }, setup, o);
}
