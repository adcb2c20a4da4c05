import type { Api } from "./api-options.ts";
import type { ServedPromptToken } from "./served-model.ts";
import { codePoints } from "./token-text.ts";

/** A token with its logprobs; null where nothing was predicted (the first token of a prompt). */
export interface ScoredToken {
  readonly id: number;
  readonly logprob: number | null;
  readonly top: readonly { readonly id: number; readonly logprob: number }[];
}

/** JSON has no -Infinity. */
const least = -9999;
const clamped = (logprob: number): number => Math.max(logprob, least);

export interface NameOptions {
  /** Tokens are written "token_id:N". */
  readonly asIds: boolean;
  /** Ids before the first token, for characters that it completes. */
  readonly before: readonly number[];
}

/** Names tokens in order. */
function namer(api: Api, { asIds, before }: NameOptions) {
  const ids = [...before.slice(-4)];
  return {
    name: (id: number): string => (asIds ? `token_id:${id}` : api.names.of(id, ids)),
    next: (id: number) => void ids.push(id),
  };
}

/** The sampled token first, then the likeliest; one entry an id. */
function ranked({ id, logprob, top }: ScoredToken): [number, number][] {
  const all = new Map<number, number>([[id, logprob ?? 0]]);
  for (const each of top) if (!all.has(each.id)) all.set(each.id, each.logprob);
  return [...all];
}

/** The `logprobs` of a completion. @param o.offset of the first token in the text, in code points */
export function completionLogprobs(
  api: Api,
  tokens: readonly ScoredToken[],
  o: NameOptions & { readonly topCount: number; readonly offset: number },
) {
  const { name, next } = namer(api, o);
  const names: string[] = [];
  const offsets: number[] = [];
  const tops: (Record<string, number> | null)[] = [];
  let offset = o.offset;
  for (const token of tokens) {
    const own = name(token.id);
    offsets.push(offset);
    names.push(own);
    offset += codePoints(own);
    tops.push(
      token.logprob === null
        ? null
        : Object.fromEntries(
            ranked(token)
              .slice(0, o.topCount + 1)
              .map(([id, logprob]) => [name(id), clamped(logprob)]),
          ),
    );
    next(token.id);
  }
  return {
    text_offset: offsets,
    token_logprobs: tokens.map(({ logprob }) => (logprob === null ? null : clamped(logprob))),
    tokens: names,
    top_logprobs: tops,
  };
}

/** The `logprobs` of a chat message. */
export function chatLogprobs(
  api: Api,
  tokens: readonly ScoredToken[],
  o: NameOptions & { readonly topCount: number },
) {
  const { name, next } = namer(api, o);
  const entry = (id: number, logprob: number) => {
    const token = name(id);
    return { token, logprob: clamped(logprob), bytes: [...Buffer.from(token)] };
  };
  return {
    content: tokens.map((token) => {
      const own = entry(token.id, token.logprob ?? 0);
      const top = ranked(token).slice(0, o.topCount);
      const made = { ...own, top_logprobs: top.map(([id, logprob]) => entry(id, logprob)) };
      next(token.id);
      return made;
    }),
  };
}

/** The `prompt_logprobs` of a prompt: null at its first token, then the token that stands there and the likeliest. */
export function promptLogprobs(api: Api, first: number, scored: readonly ServedPromptToken[]) {
  const { name, next } = namer(api, { asIds: false, before: [] });
  next(first);
  return [
    null,
    ...scored.map((token) => {
      const entry = (id: number, logprob: number, rank: number) =>
        [String(id), { logprob: clamped(logprob), rank, decoded_token: name(id) }] as const;
      const made = Object.fromEntries([
        ...token.top.map(({ id, logprob }, i) => entry(id, logprob, i + 1)),
        entry(token.id, token.logprob, token.rank),
      ]);
      next(token.id);
      return made;
    }),
  ];
}
