import { EnvError, SamplerError } from "../core/errors.ts";
import type { Question } from "../datasets/task.ts";
import type { Act, ActOptions, Ending, Environment, Finish, PolicyOutcome, Seat } from "./environment.ts";

export interface CheckOptions {
  readonly question?: Question;
  /** Turns a good policy would write; the last ones are said again when they run out. */
  readonly turns?: readonly string[];
  /** Most turns any episode may take before the check calls it endless. */
  readonly maxTurns?: number;
  /** How long an aborted episode may take to end. */
  readonly abortMilliseconds?: number;
}

const outcomes: readonly PolicyOutcome[] = ["answered", "no_answer", "turn_limit", "length", "invalid"];

/**
 * Plays an environment with policies of every manner and throws EnvError at the first promise it breaks:
 * it ends whatever the policy writes, tells how, can be aborted, lets failures through, keeps no state
 * between episodes, and draws nothing that is not keyed. Returns the names of the checks that passed.
 */
export async function checkEnvironment(
  environment: Environment,
  options: CheckOptions = {},
): Promise<string[]> {
  const question = options.question ?? { id: "check-1", question: "Who directed the film Blue Harbour?" };
  const checks = new Check(environment, question, options);
  for (const [name, check] of Object.entries(manners)) {
    try {
      await check(checks);
    } catch (cause) {
      if (cause instanceof Broken)
        throw new EnvError({ where: `${environment.name}, check "${name}"`, ...cause.facts });
      throw new EnvError({
        where: `${environment.name}, check "${name}"`,
        what: "the environment threw",
        got: String(cause),
        expected: "an Ending; only tools and samplers may make an episode fail",
        cause,
      });
    }
  }
  return Object.keys(manners);
}

class Broken extends Error {
  readonly facts: { what: string; got?: string; expected?: string; next?: string };
  constructor(facts: Broken["facts"]) {
    super(facts.what);
    this.facts = facts;
  }
}

/** What a policy says at its i-th act. */
type Manner = (i: number, options: ActOptions) => Act;
const say =
  (text: string, finish: Finish): Manner =>
  () => ({ text, finish, tokens: Math.max(1, text.split(" ").length) });

class Check {
  readonly #environment: Environment;
  readonly #question: Question;
  readonly #options: CheckOptions;
  constructor(environment: Environment, question: Question, options: CheckOptions) {
    this.#environment = environment;
    this.#question = question;
    this.#options = options;
  }
  get environment() {
    return this.#environment;
  }

  good: Manner = (i, { stop }) => {
    const turns = this.#options.turns ?? [
      "<search>Blue Harbour director</search>",
      "<answer>Tom Vale</answer>",
    ];
    const text = turns[Math.min(i, turns.length - 1)] ?? "";
    return { text, finish: stop.some((s) => text.endsWith(s)) ? "stop" : "eos", tokens: 1 };
  };

  /** Plays one episode; `log` is all that passed between environment and seats. */
  async play(manner: Manner, signal = new AbortController().signal) {
    const log: string[] = [];
    let acts = 0;
    let policyTurns = 0;
    let over = false;
    const limit = this.#options.maxTurns ?? 200;
    const seat = (name: string): Seat => ({
      observe: async (text) => {
        if (over) throw new Broken({ what: "it observed after its end", next: "Await every seat call." });
        if (typeof text !== "string" && !(text.maxTokens > 0))
          throw new Broken({
            what: "an observation has no budget",
            got: `maxTokens ${text.maxTokens}`,
            expected: "above 0",
          });
        log.push(`${name} < ${typeof text === "string" ? text : text.open + text.body + text.close}`);
        return { tokens: 1, cut: 0 };
      },
      act: async (options) => {
        if (over) throw new Broken({ what: "it acted after its end", next: "Await every seat call." });
        if (!Number.isInteger(options.maxTokens) || options.maxTokens < 1)
          throw new Broken({
            what: "act needs a token limit",
            got: `maxTokens ${options.maxTokens}`,
            expected: "an integer of at least 1",
          });
        if (acts >= limit)
          throw new Broken({
            what: "the episode does not end",
            got: `${acts} turns`,
            expected: `an end within ${limit}`,
            next: "Bound the number of turns.",
          });
        const act = manner(acts++, options);
        if (act.tokens > 0) policyTurns++;
        log.push(`${name} > ${act.text}`);
        return act;
      },
    });
    const names = this.#environment.seats;
    const seats = Object.fromEntries(names.map((name) => [name, seat(name)]));
    const question = Object.freeze({ ...this.#question });
    const ending = await this.#environment.play(question, seats, signal);
    over = true;
    await new Promise((resolve) => setImmediate(resolve)); // A call that was not awaited shows itself now.
    checkEnding(ending, policyTurns);
    return { log, ending };
  }

  /** Ends within the time allowed, by throwing or not. */
  async endsWhenAborted(): Promise<void> {
    const controller = new AbortController();
    const milliseconds = this.#options.abortMilliseconds ?? 1000;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), milliseconds);
    });
    const manner: Manner = () => {
      controller.abort();
      return { text: "<search>again</search>", finish: "stop", tokens: 1 };
    };
    const episode = this.play(manner, controller.signal).catch((error) => {
      if (error instanceof Broken) throw error;
    });
    const first = await Promise.race([episode, late]);
    clearTimeout(timer);
    if (first === "late")
      throw new Broken({
        what: "it goes on after its signal was aborted",
        got: `still running after ${milliseconds} ms`,
        next: "Pass the signal to your tools and call signal.throwIfAborted() in the loop.",
      });
  }
}

function checkEnding(ending: Ending, acts: number): void {
  if (typeof ending !== "object" || ending === null)
    throw new Broken({ what: "play did not return an Ending", got: String(ending) });
  if (!outcomes.includes(ending.outcome))
    throw new Broken({
      what: "unknown outcome",
      got: String(ending.outcome),
      expected: outcomes.join(", "),
      next: "Infrastructure failures are thrown, never returned.",
    });
  for (const key of ["turns", "invalidActions", "observationTokensCut"] as const)
    if (!Number.isInteger(ending[key]) || ending[key] < 0)
      throw new Broken({
        what: `ending.${key} is not a count`,
        got: String(ending[key]),
        expected: "an integer ≥ 0",
      });
  if (!Array.isArray(ending.searches))
    throw new Broken({
      what: "ending.searches is not a list",
      got: String(ending.searches),
      expected: "SearchRecord[]",
    });
  if (ending.turns !== acts)
    throw new Broken({
      what: "ending.turns does not count the turns in which the policy wrote",
      got: `${ending.turns}`,
      expected: `${acts}`,
    });
}

const manners: Record<string, (check: Check) => Promise<void>> = {
  "has named seats": async ({ environment }) => {
    const { seats } = environment;
    if (seats.length === 0 || new Set(seats).size !== seats.length || seats.includes(""))
      throw new Broken({
        what: "seats must be named, each once",
        got: JSON.stringify(seats),
        expected: "at least one name",
      });
  },
  "ends with a good policy": async (check) => void (await check.play(check.good)),
  "ends when nothing is written": async (check) => {
    await check.play(say("", "eos"));
    await check.play(() => ({ text: "", finish: "eos", tokens: 0 }));
  },
  "ends with gibberish": async (check) =>
    void (await check.play(say("</search></think><answer <search>\u0000\ud800 ", "stop"))),
  "ends when turns are cut": async (check) => void (await check.play(say("<think> and so on", "length"))),
  "ends when the context is full": async (check) =>
    void (await check.play(() => ({ text: "", finish: "context", tokens: 0 }))),
  "ends with a policy that never stops acting": async (check) =>
    void (await check.play(
      (i) => ({ text: `<search>query ${i}</search>`, finish: "stop", tokens: 1 }) satisfies Act,
    )),
  "lets a sampler's failure through": async (check) => {
    const failure = new SamplerError({ what: "the policy is gone" });
    const result = await check
      .play(() => {
        throw failure;
      })
      .catch((error: unknown) => error);
    if (result !== failure)
      throw new Broken({
        what: "it swallowed a failure of its seat",
        got: String(result),
        expected: "the SamplerError itself",
        next: "Do not catch errors of act and observe.",
      });
  },
  "ends when aborted": (check) => check.endsWhenAborted(),
  "keeps no state and draws nothing": async (check) => {
    const alone = await check.play(check.good);
    const together = await Promise.all([check.play(check.good), check.play(check.good)]);
    for (const { log } of together)
      if (log.join("\n") !== alone.log.join("\n"))
        throw new Broken({
          what: "the same question and the same policy gave another episode",
          got: log.join(" | ").slice(0, 300),
          expected: alone.log.join(" | ").slice(0, 300),
          next: "Keep state inside play, and key random draws by core/rng.",
        });
  },
};
