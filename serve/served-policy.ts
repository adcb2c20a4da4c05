import { DataError } from "../core/errors.ts";
import type { Engine } from "../engine/engine.ts";
import { ContinuousSampler } from "../rl/policy/continuous.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { type ChatTemplate, compileTemplate } from "../rollout/renderer.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { ServedAdapters } from "./served-adapters.ts";
import { ServedError, type ServedModel } from "./served-model.ts";

export interface ServedPolicyOptions {
  readonly engine: Engine;
  readonly policy: Policy;
  readonly tokenizer: Tokenizer;
  /** What requests call the policy. */
  readonly name: string;
  /** What its card says it was read from; default: the name. */
  readonly root?: string | undefined;
  readonly chatTemplate?: ChatTemplate | undefined;
  /** Most tokens of a sequence; not above what the model was made for (the default). */
  readonly contextTokens?: number | undefined;
  /** Most requests computed at once, the others wait; default 128. */
  readonly maxRows?: number | undefined;
  /** Adapters beside the policy; default 32. Each takes its own size in memory. */
  readonly maxAdapters?: number | undefined;
  /** Default 64. */
  readonly maxLoraRank?: number | undefined;
  /** Most prompt tokens computed between two tokens of the requests under way; default 512. */
  readonly prefillTokens?: number | undefined;
  /** Memory for keys and values of requests under way, bytes; default 4 GiB. */
  readonly kvBytes?: number | undefined;
  /** Memory for keys and values of finished texts, bytes; default 2 GiB. */
  readonly keepBytes?: number | undefined;
}

/** Our policy behind the API: continuous batching over the policy and adapters that are loaded at run time. */
export function servedPolicy(options: ServedPolicyOptions): ServedModel {
  const { engine, policy, tokenizer, name, root = name, chatTemplate } = options;
  const { maxAdapters = 32, maxLoraRank = 64 } = options;
  const { config } = policy;
  const adapters = new ServedAdapters(engine, policy, name, { maxAdapters, maxLoraRank });
  const sampler = new ContinuousSampler({ ...options, config });
  const { contextTokens } = sampler;
  const template = chatTemplate && compileTemplate(chatTemplate);
  const closing = new AbortController();
  const scoring = new Set<Promise<unknown>>();

  const chat = template && {
    chat: ((messages, addGenerationPrompt) =>
      template({
        messages: messages.map((message) => ({ ...message })),
        add_generation_prompt: addGenerationPrompt,
      })) satisfies NonNullable<ServedModel["chat"]>,
  };

  return {
    ...{ name, tokenizer, contextTokens },
    ...chat,
    cards: () => [
      { id: name, root, parent: null, contextTokens },
      ...adapters.list().map(({ name: id, path }) => ({ id, root: path, parent: name, contextTokens: null })),
    ],
    async generate(request, signal) {
      const version = adapters.get(request.model);
      checkTokens(request.prompt, { vocabSize: config.vocabSize, contextTokens });
      if (request.prompt.length === contextTokens) throw tooLong(request.prompt.length, contextTokens);
      return sampler.generate(version, request, signal).catch((error) => refuse(error, signal));
    },
    async score(model, tokens, top, signal) {
      const { score, weights } = adapters.get(model);
      checkTokens(tokens, { vocabSize: config.vocabSize, contextTokens });
      const either = AbortSignal.any([signal, closing.signal]);
      const scores = score(weights, tokens, { top, signal: either });
      scoring.add(scores);
      return scores.catch((error) => refuse(error, signal)).finally(() => scoring.delete(scores));
    },
    async loadAdapter(id, path) {
      adapters.load(id, path);
    },
    async unloadAdapter(id) {
      sampler.retire(adapters.unload(id));
    },
    load: () => sampler.load(),
    async close() {
      closing.abort(new Error("the server is closing"));
      await sampler.close();
      await Promise.allSettled(scoring);
      adapters.clear();
    },
  };
}

function checkTokens(
  tokens: readonly number[],
  { vocabSize, contextTokens }: { readonly vocabSize: number; readonly contextTokens: number },
): void {
  if (tokens.length === 0) throw new ServedError("badRequest", "You must pass at least one prompt");
  if (tokens.length > contextTokens) throw tooLong(tokens.length, contextTokens);
  const odd = tokens.find((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  if (odd !== undefined) throw new ServedError("badRequest", `Token id ${odd} is out of vocabulary`);
}

const tooLong = (tokens: number, contextTokens: number) =>
  new ServedError(
    "badRequest",
    `This model's maximum context length is ${contextTokens} tokens. However, your prompt contains ${tokens} input tokens, which leaves no room for output tokens. Please reduce the length of the input prompt.`,
  );

/** An abort stays what it is; whatever else ends a request is the model's failure, or a prompt that cannot be. */
function refuse(error: unknown, signal: AbortSignal): never {
  if (signal.aborted || error instanceof ServedError) throw error;
  const kind = error instanceof DataError ? "badRequest" : "broken";
  throw new ServedError(kind, error instanceof Error ? error.message : String(error));
}
