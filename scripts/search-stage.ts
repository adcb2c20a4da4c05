import { ConfigError, DataError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import type { Environment } from "../env/environment.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { type StandInResources, standIns } from "../env/search/stand-ins.ts";
import { createRenderer, loadChatTemplate } from "../rollout/renderer.ts";
import type { Renderer } from "../rollout/tokenizer.ts";
import { answeringWith, generatedOf, openResources } from "./answering.ts";
import { evaluateWith } from "./evaluations.ts";
import type { Output } from "./output.ts";
import { type Condition, referenceName } from "./search-conditions.ts";
import type { Setup } from "./setup.ts";

/** A setup whose searches are answered by one condition after the other, while the policy stays open. */
export interface Stage {
  /** For opening the policy. */
  readonly setup: Setup;
  /** Those that the data allow. */
  readonly conditions: readonly Condition[];
  evaluate(condition: Condition, o: Parameters<typeof evaluateWith>[1]): ReturnType<typeof evaluateWith>;
}

/**
 * @param o.strict a condition that the data do not allow is an error; else it is left out with a warning
 * @throws ConfigError or DataError for random or gold passages that are not there
 */
export async function openStage(
  setup: Setup,
  o: {
    readonly conditions: readonly Condition[];
    readonly strict: boolean;
    readonly offPrompt: string | undefined;
    readonly output: Output;
  },
): Promise<Stage> {
  const { config, benchmarks, makeEnvironment, retriever: engine } = setup;
  const needed = new Set(o.conditions.map((each) => standIns[each.config.search.retriever].needs));
  const generated = generatedOf(setup);
  const inReach = generated !== undefined || config.search.corpus !== undefined;
  if (o.strict && !inReach && (needed.has("pool") || needed.has("gold")))
    throw new ConfigError({
      what: "random and gold passages are read from the corpus, and the config names none",
      where: "search.corpus",
      next: "Name the corpus that the index was built from, or leave random and oracle out of --retrievers.",
    });
  const parts = { engine, makeEnvironment, generated, questions: benchmarks };
  const both = needed.has("pool") && needed.has("gold") ? "both" : undefined;
  const one = needed.has("pool") ? "pool" : needed.has("gold") ? "gold" : undefined;
  const resources = await openResources(config, parts, inReach ? (both ?? one) : undefined);
  const golden = tellGold(benchmarks, resources);
  const conditions = o.conditions.filter(({ name, config: { search } }) => {
    const { needs } = standIns[search.retriever];
    const without =
      needs === undefined || (inReach && (needs === "pool" || golden.some(({ tasks }) => tasks.length > 0)))
        ? undefined
        : inReach
          ? "no question has gold passages in the corpus"
          : "it reads passages from the corpus, and the config names none";
    if (without !== undefined && o.strict)
      throw new DataError({ what: `\`${name}\` cannot answer: ${without}`, where: "--retrievers" });
    if (without !== undefined) o.output.warn(`${name} is left out: ${without}`);
    return without === undefined;
  });
  if (conditions.some(({ config: { search } }) => search.retriever === "oracle"))
    for (const { name, tasks, of } of golden)
      if (tasks.length < of)
        o.output.warn(
          `${name}: oracle is asked ${tasks.length} of ${of} questions, those with gold passages`,
        );

  const scene: { environment: Environment; renderer: Renderer } = {
    environment: setup.environment,
    renderer: setup.renderer,
  };
  const { name, seats } = setup.environment;
  return {
    conditions,
    setup: {
      ...setup,
      environment: { name, seats, play: (...episode) => scene.environment.play(...episode) },
      renderer: {
        prompt: (question) => scene.renderer.prompt(question),
        observation: (text) => scene.renderer.observation(text),
      },
    },
    evaluate(condition, options) {
      const make = (retriever: Retriever) => makeEnvironment(retriever, condition.config.env);
      const answering = answeringWith(condition.config, { engine, makeEnvironment: make }, resources);
      scene.environment = answering.environment;
      scene.renderer = condition.name === "off" ? offRenderer(setup, o.offPrompt) : setup.renderer;
      const asked = condition.config.search.retriever === "oracle" ? golden : benchmarks;
      return evaluateWith(
        {
          ...setup,
          ...answering,
          config: condition.name === referenceName ? condition.config : unpinned(condition.config),
          benchmarks: benchmarks.flatMap((each) => {
            const tasks = asked.find((set) => set.name === each.name)?.tasks ?? [];
            return tasks.length > 0 ? [{ ...each, tasks }] : [];
          }),
        },
        options,
      );
    },
  };
}

/** Questions with gold passages, benchmark by benchmark. */
function tellGold(
  benchmarks: Setup["benchmarks"],
  { gold }: StandInResources,
): { readonly name: string; readonly tasks: readonly Task[]; readonly of: number }[] {
  return benchmarks.map(({ name, tasks }) => ({
    name,
    tasks: tasks.filter((task) => gold(task) !== undefined),
    of: tasks.length,
  }));
}

/** Pinned numbers are those of the pinned index; what stands in for it is measured against them, not beside them. */
const unpinned = (config: Condition["config"]): Condition["config"] => ({
  ...config,
  eval: {
    ...config.eval,
    benchmarks: config.eval.benchmarks.map(({ pins: _, ...row }) => row),
  },
});

function offRenderer({ config, tokenizer, renderer }: Setup, system: string | undefined): Renderer {
  if (system === undefined) return renderer;
  const { path } = config.model;
  const prompt = { ...config.rollout.prompt, system };
  return createRenderer(tokenizer, prompt, path ? loadChatTemplate(path) : undefined);
}
