import type { Project } from "./toy-project.ts";

/** Two searches, one, or none before the answer. */
function demonstrations(question: string, book: string, author: string) {
  const prompt = { source: "prompt", text: `<question> ${question} </question>` };
  const say = (text: string) => ({ source: "policy", text });
  const seen = {
    source: "observation",
    text: `<information> ${book} was written by ${author} </information>`,
  };
  const [search, answer] = [say(`<search> ${book} </search>`), say(`<answer> ${author} </answer>`)];
  const unsure = say("<think> who wrote </think> <search> written by </search>");
  return [[answer], [search, seen, answer], [unsure, seen, search, seen, answer]].map((rest, i) => ({
    id: `${book} ${i}`,
    question,
    segments: [prompt, ...rest],
  }));
}

/**
 * A model folder whose policy searches and answers the toy project's two questions, as it likes: warmed up in half a
 * second, so that its episodes have one to three turns.
 */
export async function schooled(project: Project): Promise<string> {
  const path = project.write("demonstrations.jsonl", [
    ...demonstrations("who wrote Dune", "Dune", "Frank Herbert"),
    ...demonstrations("who wrote Emma", "Emma", "Jane Austen"),
  ]);
  const school = project.at("school");
  const { code, stderr } = await project.forager(
    ...["train", project.at("train.yaml"), `run.dir=${school}`, "rl.steps=0", "--quiet"],
    ...["sft.steps=80", "sft.slots=512", "sft.schedule.learningRate=0.02"],
    `sft.source={ kind: trajectories, path: ${path} }`,
  );
  if (code !== 0) throw new Error(stderr);
  return `${school}/checkpoints/rl-000000`;
}
