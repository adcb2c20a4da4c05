import type { Observation } from "../env/environment.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";

/** A token has rarely more characters than this; of a longer page not even the ids are worth computing. */
const charactersPerToken = 128;

/**
 * Encodes an observation within its budget: whole if it fits, else with its body cut at a token, never inside a
 * character. The frame is never cut, even when it alone is over the budget. `cut` counts body tokens left out.
 */
export function fitObservation(
  { open, body, close, maxTokens }: Observation,
  tokenizer: Tokenizer,
  renderer: Renderer,
): { tokens: number[]; cut: number } {
  const encode = (text: string) => tokenizer.encode(renderer.observation(open + text + close));
  const bounded = prefix(body, maxTokens * charactersPerToken);
  const whole = encode(bounded);
  if (whole.length <= maxTokens && bounded.length === body.length) return { tokens: whole, cut: 0 };
  const ids = tokenizer.encode(bounded);
  let tokens = encode("");
  let kept = Math.min(ids.length, maxTokens - tokens.length);
  while (kept > 0) {
    // Half a character at the cut decodes to U+FFFD: it goes too.
    const text = tokenizer.decode(ids.slice(0, kept)).replace(/\uFFFD+$/u, "");
    const fitted = encode(text);
    if (fitted.length <= maxTokens) {
      tokens = fitted;
      break;
    }
    kept -= fitted.length - maxTokens;
  }
  return { tokens, cut: ids.length - Math.max(0, kept) };
}

/** At most `length` UTF-16 units, never half a surrogate pair. */
function prefix(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
