/** The stub server of the benches: says the workload's turns. Serves until its standard input ends. */
import { startStub } from "../serve/stub.ts";
import { stubScript, tokenising } from "./workload.ts";

const stub = await startStub({
  tokenizer: tokenising,
  script: stubScript(),
  latencyMs: Number(process.argv[2] ?? 0),
  // A peer's chat messages become the prompt that the questions and turns are read from.
  chat: (messages) => messages.map(({ content }) => content).join(" "),
});
process.stdout.write(`${stub.url}\n`);
process.stdin.resume().once("end", () => void stub.close());
