/** Tokens of a request: prompts once each, however many samples, completions all. */
export function usageOf(prompts: readonly number[], completions: readonly number[]) {
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const [prompt, completion] = [sum(prompts), sum(completions)];
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion };
}
