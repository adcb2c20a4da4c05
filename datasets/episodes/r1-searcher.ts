import { z } from "zod";
import type { StoredEpisode, Turn } from "./episode.ts";

/**
 * One line of R1-Searcher's evaluation results: reasoning (its `<think>` stood in the prompt), queries and documents
 * between special marks, then `</think>` and the answer. Put into Forager's protocol turn by turn.
 */
export const r1SearcherRecord = z
  .looseObject({
    question: z.string().min(1),
    answer: z.union([z.string(), z.array(z.string())]),
    pred_ans: z.string().nullish(),
    gen_text_store: z.string().min(1),
  })
  .transform(
    ({ question, answer, pred_ans, gen_text_store }): Omit<StoredEpisode, "id"> => ({
      question,
      goldenAnswers: typeof answer === "string" ? [answer] : answer,
      prediction: pred_ans?.trim() ?? null,
      turns: turnsOf(gen_text_store),
    }),
  );

const search =
  /<\|begin_of_query\|>([\s\S]*?)<\|end_of_query\|>\s*<\|begin_of_documents\|>([\s\S]*?)<\|end_of_documents\|>/gu;

function turnsOf(text: string): Turn[] {
  const turns: Turn[] = [];
  let from = 0;
  for (const match of text.matchAll(search)) {
    const [whole, query = "", documents = ""] = match;
    const thought = withoutTags(text.slice(from, match.index));
    turns.push({ source: "policy", text: `${thinking(thought)}<search> ${query.trim()} </search>` });
    turns.push({ source: "observation", text: documents.trim(), bare: true });
    from = match.index + whole.length;
  }
  const rest = text.slice(from);
  const end = rest.lastIndexOf("</think>");
  const thought = end < 0 ? "" : withoutTags(rest.slice(0, end));
  const said = end < 0 ? rest.trim() : rest.slice(end + "</think>".length).trim();
  if (thought !== "" || said !== "") turns.push({ source: "policy", text: `${thinking(thought)}${said}` });
  return turns;
}

const withoutTags = (text: string) => text.replace(/<\/?think>/gu, "").trim();
const thinking = (thought: string) => (thought === "" ? "" : `<think> ${thought} </think>\n`);
