/**
 * Reduces recorded answers of a real vLLM to the contract that serve/contract.test.ts holds our API to:
 *
 *     npx tsx scripts/integration/shapes.ts FOLDER [serve/fixtures/contract.json]
 *
 * FOLDER holds one file a call, { request, status, headers, response }. Nothing that was said is kept: prompts become
 * ours (the byte tokenizer writes them), answers become paths and types.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  type Contract,
  type ContractCase,
  readAnswer,
  type Shape,
  shapeOf,
} from "../../serve/contract-shape.ts";

interface Recording {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly body: Record<string, unknown> | null;
  };
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly response: unknown;
}

/** Adapters that a call found there, where its own model does not say it. */
const found: Readonly<Record<string, readonly string[]>> = {
  load_v1_again: ["run-v1"],
  load_v1_inplace: ["run-v1"],
  unload_v1: ["run-v1"],
  unload_v2: ["run-v2"],
  models_with_adapters: ["run-v1", "run-v2"],
};

/** What the test's scripted model stops at: a word that it says, and that word's first byte. */
const ours: Readonly<Record<string, unknown>> = { stop: ["halt"], stop_token_ids: [104] };

function contractOf(recordings: ReadonlyMap<string, Recording>): Contract {
  const shapes: Record<string, Shape> = {};
  const cases = [...recordings].map(([name, recording]): ContractCase => {
    const { request, status, headers, response } = recording;
    const media = headers["content-type"]?.split(";")[0];
    const answer =
      typeof response === "string" && response !== "" ? readAnswer(media, response) : (response ?? "");
    const shape = freeEnds(shapeOf(answer), request.body);
    const known = Object.keys(shapes).find((each) => JSON.stringify(shapes[each]) === JSON.stringify(shape));
    if (known === undefined) shapes[name] = shape;
    const body = request.body === null ? {} : { body: ownBody(request.body) };
    return {
      name,
      given: found[name] ?? modelOf(request.body, status),
      request: { method: request.method, path: request.path, ...body },
      status,
      ...(media === undefined ? {} : { media }),
      shape: known ?? name,
    };
  });
  return { shapes, cases };
}

function modelOf(body: Recording["request"]["body"], status: number): string[] {
  const { model } = body ?? {};
  return status !== 404 && typeof model === "string" && model !== "base" ? [model] : [];
}

/** Whether a sampled completion ends or is cut is chance. */
function freeEnds(shape: Shape, body: Recording["request"]["body"]): Shape {
  const path = ".choices[].finish_reason";
  return body?.temperature !== 0 && shape[path] ? { ...shape, [path]: ['"length"', '"stop"'] } : shape;
}

function ownBody(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => {
      if (key === "messages") return [key, [{ role: "user", content: "Hello" }]];
      if (key === "lora_path") return [key, `{folder}/${basename(String(value))}`];
      if (key === "prompt" || key === "tokens" || key === "token_ids") return [key, ownPrompt(value)];
      return [key, ours[key] ?? value];
    }),
  );
}

function ownPrompt(value: unknown): unknown {
  if (typeof value === "string") return "Say something.";
  if (!Array.isArray(value)) return value;
  const first: unknown = value[0];
  // A long prompt of one token.
  if (value.length > 100 && value.every((id) => id === first))
    return { repeat: ownId(Number(first)), times: value.length };
  return value.map((each: unknown) => (typeof each === "number" ? ownId(each) : ownPrompt(each)));
}

/** A printable byte; ids far outside every vocabulary stay there. */
const ownId = (id: number) => (id > 900_000 ? id : 32 + (id % 90));

const [folder, out = "serve/fixtures/contract.json"] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: shapes.ts FOLDER [OUT]");
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
const recordings = new Map(
  names
    .sort()
    .map((name) => [
      basename(name, ".json"),
      JSON.parse(readFileSync(join(folder, name), "utf8")) as Recording,
    ]),
);
writeFileSync(out, `${JSON.stringify(contractOf(recordings), null, 2)}\n`);
