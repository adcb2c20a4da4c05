import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { parseFault, parseMilliseconds } from "./stub-options.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

const projects: Project[] = [];
const children: ChildProcess[] = [];
afterEach(() => {
  for (const project of projects.splice(0)) project.remove();
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function project(): Project {
  const made = toyProject();
  projects.push(made);
  return made;
}

type Event = Readonly<Record<string, unknown>>;

/** A command as a process, its events as they come. */
function started(...words: string[]) {
  const tsx = join(packageRoot(), "node_modules/tsx/dist/cli.mjs");
  const main = join(packageRoot(), "scripts/main.ts");
  const child = spawn(process.execPath, [tsx, main, ...words, "--json"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  const events: Event[] = [];
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  let listening: (event: Event) => void;
  const first = new Promise<Event>((resolve, reject) => {
    listening = resolve;
    child.on("close", () => reject(new Error(stderr)));
  });
  let rest = "";
  child.stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = JSON.parse(line) as Event;
      events.push(event);
      if (event.event === "listening") listening(event);
    }
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, first, events, ended, said: () => stderr };
}

const clientAt = (url: unknown) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 });

describe("as a process", () => {
  test("forager stub: says where it is and how to ask, and Ctrl-C is its proper end", async () => {
    const { child, first, events, ended, said } = started("stub", "--port", "0", "--fault", "status503@2");
    const { url, model } = await first;
    expect(model).toBe("stub");
    const client = clientAt(url);
    const ask = () => client.completions.create({ model: "stub", prompt: "Hi", max_tokens: 3 });
    expect((await ask()).choices).toHaveLength(1);
    await expect(ask()).rejects.toMatchObject({ status: 503 });
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(events.at(-1)).toMatchObject({
      event: "result",
      requests: { generate: 2 },
      faults: { status503: 1 },
    });
    expect(said()).toMatch(/serving stub at http:\/\/127\.0\.0\.1:\d+ [\s\S]*curl http/);
  });

  test("forager serve: a model folder behind the API, with its own tokenizer", async () => {
    const folder = project().model("tiny");
    const { child, first, events, ended } = started("serve", folder, "--port", "0", "--threads", "1");
    const { url, model } = await first;
    expect(model).toBe("tiny");
    const client = clientAt(url);
    const [card] = (await client.models.list()).data;
    expect(card).toMatchObject({ id: "tiny", root: folder, parent: null, max_model_len: 96 });
    const asked = { model: "tiny", prompt: "who wrote Dune ?", max_tokens: 4, ignore_eos: true, seed: 1 };
    const extra = { logprobs: 0, return_token_ids: true } as const;
    const { choices, usage } = await client.completions.create({ ...asked, ...extra });
    expect(usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 4 });
    expect(choices[0]?.logprobs?.token_logprobs).toHaveLength(4);
    expect((await client.completions.create({ ...asked, ...extra })).choices).toEqual(choices);
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(events.at(-1)).toMatchObject({ event: "result", requests: 2, generationTokens: 8 });
  });
});

describe("what cannot be served is said before anything listens", () => {
  test.each([
    [["serve", "nowhere"], /there is no such model[\s\S]*expected a Hugging Face folder, a run folder/],
    [["serve", "DIR"], /this is no model/],
    [["serve", "DIR/adapter"], /an adapter alone[\s\S]*--adapter NAME=FOLDER/],
    [["serve", "DIR/tiny", "--step", "3"], /--step chooses a checkpoint of a run/],
    [["serve", "DIR/tiny", "--port", "70000"], /no port[\s\S]*0 to 65535/],
    [["serve", "DIR/tiny", "--adapter", "x"], /NAME=FOLDER/],
    [["serve", "DIR/tiny", "--max-rows", "0"], /--max-rows[\s\S]*1 or more/],
    [["serve", "DIR/tiny", "--api-key-env", "FORAGER_NO_SUCH_KEY"], /FORAGER_NO_SUCH_KEY/],
    [["stub", "--fault", "hnag=0.1"], /no such fault[\s\S]*Did you mean `hang`\?/],
    [["stub", "--fault", "hang=2"], /no probability[\s\S]*0 to 1/],
    [["stub", "--fault", "hang"], /KIND=PROBABILITY or KIND@N,N/],
    [["stub", "--latency-ms", "fast"], /milliseconds: 50, or 20-80/],
    [["stub", "--script", "DIR/say.yaml"], /lines\.0[\s\S]*say\.yaml[\s\S]*Unrecognized key: "text"/],
    [["stub", "--max-running", "0"], /--max-running[\s\S]*above 0/],
  ])("%j", async (words, text) => {
    const { model, write, at, dir, forager } = project();
    model("tiny");
    write("say.yaml", "lines: [{ text: hello }]\n");
    mkdirSync(at("adapter"));
    writeFileSync(at("adapter/adapter_config.json"), "{}");
    const { code, stderr } = await forager(...words.map((word) => word.replace("DIR", dir)));
    expect(stderr).toMatch(text);
    expect(code).toBe(2);
  });
});

test.each([
  ["hang=0.25", { fault: "hang", probability: 0.25 }],
  ["restart@3,10", { fault: "restart", at: [3, 10] }],
])("--fault %s", (text, rule) => {
  expect(parseFault(text)).toEqual(rule);
});

test.each([
  ["50", 50],
  ["20-80", { from: 20, to: 80 }],
  ["0.5", 0.5],
])("--latency-ms %s", (text, milliseconds) => {
  expect(parseMilliseconds(text)).toEqual(milliseconds);
});
