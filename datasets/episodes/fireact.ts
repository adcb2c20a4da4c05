import { z } from "zod";
import type { StoredEpisode, Turn } from "./episode.ts";

const message = z.looseObject({ role: z.enum(["system", "user", "assistant"]), content: z.string() });

/**
 * One line of FireAct's training data: a question, then ReAct turns `Thought: … Action: search[…] | finish[…]` with
 * `Observation: …` between them. Put into Forager's protocol; what the game says after `finish` is left out.
 */
export const fireActRecord = z
  .looseObject({ messages: z.array(message).min(2) })
  .transform(({ messages }, context): Omit<StoredEpisode, "id"> => {
    const [first, ...rest] = messages.filter(({ role }) => role !== "system");
    const turns: Turn[] = [];
    for (const [i, { role, content }] of rest.entries()) {
      if (role === "user") {
        turns.push({ source: "observation", text: content.replace(/^Observation:\s*/u, ""), bare: true });
        continue;
      }
      const turn = readAct(content);
      if (turn === undefined) {
        const expected = "an assistant's text of `Thought: …` and `Action: search[…]` or `finish[…]`";
        context.addIssue({ code: "custom", path: ["messages", i + 1, "content"], message: expected });
        return z.NEVER;
      }
      turns.push({ source: "policy", text: turn.text });
      if (turn.last) break;
    }
    return { question: first?.content ?? "", turns };
  });

const act = /^(?:Thought:\s*([\s\S]*?)\s*)?Action:\s*(\w+)\[([\s\S]*)\]\s*$/u;
const tags: Readonly<Record<string, string>> = { search: "search", finish: "answer" };

function readAct(text: string): { text: string; last: boolean } | undefined {
  const [, thought = "", name = "", argument = ""] = act.exec(text.trim()) ?? [];
  const tag = tags[name.toLowerCase()];
  if (tag === undefined) return undefined;
  const thinking = thought === "" ? "" : `<think> ${thought} </think>\n`;
  return { text: `${thinking}<${tag}> ${argument.trim()} </${tag}>`, last: tag === "answer" };
}
