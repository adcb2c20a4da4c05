import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { toyVllm } from "../serve/proxy/toy-vllm.ts";
import type { Output } from "./output.ts";
import { command } from "./proxy.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
let upstream: Awaited<ReturnType<typeof toyVllm>>;
beforeAll(() => {
  project = toyProject();
});
afterAll(() => project.remove());
beforeEach(async () => {
  upstream = await toyVllm((_, call) => ["who wrote Dune", "Frank Herbert"][call % 2]!);
});
afterEach(() => upstream.close());

/** The command, running: its URL, and what it said when it has been stopped. */
async function recording(out: string, over: object = {}) {
  const stop = new AbortController();
  const events: Record<string, unknown>[] = [];
  const words: string[] = [];
  let listening = (_url: string) => {};
  const url = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const say = (text = "") => void words.push(text);
  const output: Output = {
    ...{ json: true, quiet: false, line: say, print: say, warn: say },
    event: (name, data) => {
      events.push({ event: name, ...data });
      if (name === "listening") listening(data.url as string);
    },
    result: (data) => void events.push({ event: "result", ...data }),
    progress: () => expect.unreachable(),
  };
  const args = { upstream: `${upstream.url}/v1/`, out, host: "127.0.0.1", port: 0, ...over };
  const running = command.run(args, output, stop.signal, {});
  const post = async (path: string, body: object) => {
    const answer = await fetch(path.startsWith("http") ? path : (await url) + path, {
      ...{ method: "POST", body: JSON.stringify(body) },
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  await Promise.race([url, running]);
  return {
    post,
    async end() {
      stop.abort();
      await running;
      return { events, words: words.join("\n") };
    },
  };
}
const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; segments: { source: string; text: string }[] });

test("records rollouts to a file that forager sft trains on", async () => {
  const out = project.at("rollouts.jsonl");
  writeFileSync(out, '{"id":"before","segments":[{"source":"policy","text":"who"}]}\n');
  const { post, end } = await recording(out);
  const { id, baseUrl } = await post("/rollouts", { question: "who wrote it" });
  const messages = [{ role: "user", content: "who" }];
  const first = await post(`${baseUrl}/chat/completions`, { messages });
  const said = (first.choices as { message: { content: string } }[])[0]!.message;
  await post(`${baseUrl}/chat/completions`, {
    messages: [...messages, said, { role: "user", content: "wrote" }],
  });
  await post(`/rollouts/${id}/reward`, { reward: 0.5 });
  const other = await post("/rollouts", { id: "mine" });
  await post(`${other.baseUrl}/completions`, { prompt: "who wrote" });
  await post("/rollouts", { id: "silent" });
  const { events, words } = await end();
  expect(linesOf(out).slice(1)).toMatchObject([
    {
      ...{ id: "r1", question: "who wrote it", reward: 0.5, sequenceIndex: 0, sequenceCount: 1 },
      segments: [
        { source: "prompt", text: "user: who<eos>assistant: " },
        { source: "policy", text: "who wrote Dune<eos>", logprobs: expect.any(Array) },
        { source: "observation", text: "user: wrote<eos>assistant: " },
        { source: "policy", text: "Frank Herbert", tokens: expect.any(Array) },
      ],
    },
    { id: "mine", reward: null, segments: [{ text: "who wrote" }, { text: "who wrote Dune" }] },
  ]);
  expect(events.at(-1)).toMatchObject({ event: "result", rollouts: 3, written: 2, lines: 2, failed: 1 });
  expect(words).toMatch(/OPENAI_BASE_URL=http.*\/rollouts\/r1\/v1/);
  expect(words).toMatch(/rollout silent is not written: it has no calls/);

  const { code, stderr } = await project.forager(
    ...[
      "sft",
      project.at("train.yaml"),
      `sft.source={ kind: trajectories, path: ${out} }`,
      "sft.steps=1",
      "sft.slots=64",
      "--json",
      "--quiet",
    ],
    ...["model={ tiny: { layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 96 } }"],
  );
  expect(code, stderr).toBe(0);
});

test("answers that cannot be recorded are told once, and their rollouts are not written", async () => {
  await upstream.close();
  upstream = await toyVllm(() => ({ status: 200, body: { choices: [] } }));
  const out = project.at("none.jsonl");
  const { post, end } = await recording(out);
  for (const id of ["a", "b"]) {
    const { baseUrl } = await post("/rollouts", { id });
    await post(`${baseUrl}/chat/completions`, { messages: [{ role: "user", content: "x" }] });
    await post(`/rollouts/${id}/close`, {});
  }
  const { events, words } = await end();
  expect(readFileSync(out, "utf8")).toBe("");
  expect(words.match(/cannot be recorded: prompt_token_ids/g)).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ rollouts: 2, written: 0, failed: 2 });
});

test.each([
  [{ upstream: "localhost:8000" }, /--upstream.*no URL/],
  [{ upstream: "http://127.0.0.1:9" }, /no vLLM-compatible server answers/],
  [{ apiKeyEnv: "FORAGER_NO_SUCH_KEY" }, /FORAGER_NO_SUCH_KEY is not set/],
  [{ out: "/proc/none/x.jsonl" }, /none|x\.jsonl/],
])("the user's mistake: %o", async (over, message) => {
  await expect(recording(project.at("x.jsonl"), over)).rejects.toThrow(message);
});
