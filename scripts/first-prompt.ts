import type { Setup } from "./setup.ts";

/** The prompt of the first question of the run, [T]: what servers and samplers are tried with. */
export function firstPrompt({
  source,
  benchmarks,
  renderer,
}: Pick<Setup, "source" | "benchmarks" | "renderer">): readonly number[] {
  const task = source.batch(0, 1, 0)[0] ?? benchmarks[0]?.tasks[0];
  return renderer.prompt(task?.question ?? "Who wrote the first encyclopedia?");
}
