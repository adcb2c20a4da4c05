import type { Rng } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import { normalizerOf } from "../reward/normalize.ts";
import type { ChatPolicy } from "../rollout/endpoint/chat.ts";
import type { Setup } from "./setup.ts";

const system = `You rewrite questions for a question-answering exercise.
You are given a question and its answer. Write another question with the same answer: describe an entity by another true property, add or replace a condition that the answer satisfies, or ask from another direction. The answer must be the only one, and must not stand in the question.
Write the question alone, inside <question> and </question>.`;

const mostTokens = 400;
/** A rewriting of more than so many times the words is no small change. */
const longest = 4;

/**
 * Asks a model to put a question in other words, with other conditions, so that its known answer stays the answer.
 * Whether it does is found out by playing it. Undefined where the text is no such question.
 * @throws SamplerError when the server fails
 */
export async function rewrite(
  { tokenizer, config }: Pick<Setup, "tokenizer" | "config">,
  model: ChatPolicy,
  task: Task,
  draw: Rng,
  signal: AbortSignal,
): Promise<string | undefined> {
  const seed = draw.int(2 ** 31);
  const user = `Question: {question}\nAnswer: ${task.goldenAnswers[0]}`;
  const seat = model.takeSeat({
    ...{ name: "rewriter", sequence: `rewrite/${task.id}/${seed}`, question: task.question, tokenizer },
    words: { system, user, plain: user },
    decoding: { temperature: 1, topP: 1, topK: 0 },
    seedOfTurn: () => seed,
    signal,
  });
  const { text } = await seat.act({ stop: ["</question>"], maxTokens: mostTokens });
  seat.close();
  const written = /<question>([\s\S]*?)(?:<\/question>|$)/u.exec(text)?.[1]?.trim();
  if (written === undefined || written === "") return undefined;
  const { normalize } = normalizerOf(config.reward.normalizer);
  const [asked, before] = [normalize(written), normalize(task.question)];
  const told = task.goldenAnswers
    .map(normalize)
    .some((gold) => gold !== "" && asked.includes(gold) && !before.includes(gold));
  const words = (each: string) => each.split(/\s+/u).length;
  return asked === before || told || words(written) > longest * words(task.question) + 20
    ? undefined
    : written;
}
