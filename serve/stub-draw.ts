import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { ServedCompletion, ServedRequest } from "./served-model.ts";
import { GrowingText } from "./token-text.ts";

type Limits = Pick<
  ServedRequest["params"],
  "maxTokens" | "stop" | "stopTokenIds" | "ignoreEos" | "minTokens"
>;

/** The ids of a said text as a server would have sampled them: cut by stop strings, stop ids and limits, else ended. */
export function drawTokens(
  tokenizer: Tokenizer,
  text: string,
  limits: Limits,
): { ids: number[]; finish: ServedCompletion["finish"]; stopReason?: string | number } {
  const eos = tokenizer.eosIds[0] as number;
  const said = [...tokenizer.encode(text), eos];
  const growing = new GrowingText(tokenizer, new Set());
  const ids: number[] = [];
  // Without an end the text begins again.
  while (ids.length < limits.maxTokens) {
    const id = said[ids.length % said.length] as number;
    ids.push(id);
    const before = growing.text.length;
    if (limits.stop.length > 0) growing.push(id);
    if (ids.length <= limits.minTokens) continue;
    if (id === eos && !limits.ignoreEos) return { ids, finish: "eos" };
    if (limits.stopTokenIds.includes(id)) return { ids, finish: "stop", stopReason: id };
    const stop = completed(growing.text, before, limits.stop);
    if (stop !== undefined) return { ids, finish: "stop", stopReason: stop };
  }
  return { ids, finish: "length" };
}

/** Of the stop strings that a token completed, the one that was complete first. */
function completed(text: string, before: number, stops: readonly string[]): string | undefined {
  let best: { stop: string; end: number } | undefined;
  for (const stop of stops) {
    const at = text.indexOf(stop, Math.max(0, before - stop.length + 1));
    if (at >= 0 && (!best || at + stop.length < best.end)) best = { stop, end: at + stop.length };
  }
  return best?.stop;
}
