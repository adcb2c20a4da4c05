import { EnvError } from "../core/errors.ts";
import type { Question } from "../datasets/task.ts";
import type { Act, ActOptions, Ending, Environment, Finish, Seat } from "./environment.ts";
import { spoken } from "./testing.ts";

/** What a step gives back, in Gymnasium's words. */
export interface Step {
  /** Text added since the last action: everything the policy may read before it acts again. */
  readonly observation: string;
  /** The policy ended the episode: answered, no_answer, invalid. */
  readonly terminated: boolean;
  /** A limit ended it: turn_limit, length. */
  readonly truncated: boolean;
  readonly ending?: Ending;
  /** What the environment asks of the next action; absent when it is over. */
  readonly options?: ActOptions;
}

/** A reset/step view of a single-seat environment, for people who know Gymnasium. There is no reward: see reward/. */
export interface Stepper {
  /** Starts an episode; an unfinished one is cancelled. */
  reset(question: Question): Promise<Step>;
  /** Says one turn. Cut at its stop string, as a sampler would; `finish` is worked out unless given. */
  step(text: string, finish?: Finish): Promise<Step>;
  /** Cancels the episode. */
  close(): Promise<void>;
}

interface Waiting {
  readonly options: ActOptions;
  readonly answer: (act: Act) => void;
}

/** Throws EnvError for an environment with several seats, and for `step` when no episode is open. */
export function stepper(environment: Environment): Stepper {
  const [name, ...others] = environment.seats;
  if (name === undefined || others.length > 0)
    throw new EnvError({
      what: "only a single-seat environment can be stepped",
      where: environment.name,
      got: `${environment.seats.length} seats`,
      next: "Use `play` with one seat per role.",
    });
  let controller = new AbortController();
  let episode: Promise<Ending> | undefined;
  let waiting: Waiting | undefined;
  let observation = "";
  let wake = () => {};

  const seat: Seat = {
    async observe(text) {
      observation += typeof text === "string" ? text : text.open + text.body + text.close;
      return { tokens: 0, cut: 0 };
    },
    act: (options) =>
      new Promise<Act>((answer, reject) => {
        controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
        waiting = { options, answer };
        wake();
      }),
  };

  /** Runs the environment until it asks for an action or ends. */
  const advance = async (): Promise<Step> => {
    const asked = new Promise<undefined>((resolve) => {
      wake = () => resolve(undefined);
      if (waiting) wake();
    });
    const ending = await Promise.race([asked, episode as Promise<Ending>]);
    const text = observation;
    observation = "";
    if (ending === undefined) {
      return {
        observation: text,
        terminated: false,
        truncated: false,
        options: (waiting as Waiting).options,
      };
    }
    episode = undefined;
    const truncated = ending.outcome === "turn_limit" || ending.outcome === "length";
    return { observation: text, terminated: !truncated, truncated, ending };
  };

  const close = async () => {
    const open = episode;
    episode = undefined;
    waiting = undefined;
    observation = "";
    controller.abort();
    await open?.catch(() => {});
  };

  return {
    async reset(question) {
      await close();
      controller = new AbortController();
      episode = environment.play(question, { [name]: seat }, controller.signal);
      episode.catch(() => {}); // Its failure is reported by the step that waits for it.
      return advance();
    },
    async step(text, finish) {
      if (waiting === undefined || episode === undefined)
        throw new EnvError({
          what: "no episode is waiting for an action",
          where: environment.name,
          next: "Call reset first.",
        });
      const { answer, options } = waiting;
      waiting = undefined;
      const act = spoken(text, options.stop);
      answer(finish === undefined ? act : { text, finish, tokens: act.tokens });
      return advance();
    },
    close,
  };
}
