import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { createApi } from "./api.ts";
import {
  type Contract,
  type ContractCase,
  differences,
  filled,
  readAnswer,
  shapeOf,
} from "./contract-shape.ts";
import { listen } from "./listen.ts";
import { stubModel } from "./stub-model.ts";
import { parseStubScript } from "./stub-script.ts";

/** Paths and types of what a real vLLM answered; scripts/integration/shapes.ts made it. */
const contract = JSON.parse(
  readFileSync(join(packageRoot(), "serve/fixtures/contract.json"), "utf8"),
) as Contract;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-contract-"));
  for (const version of ["v1", "v2"]) {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, "adapter_config.json"), "{}");
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One text: with its end 20 tokens, and it has the word that some cases stop at. A long one for the long prompt. */
const script = parseStubScript({
  lines: [{ question: "VVVV", say: "a".repeat(100) }, { say: "one two halt three." }],
});

async function answer({ given, request }: ContractCase) {
  const model = stubModel({ name: "base", contextTokens: 2048, script });
  for (const name of given) await model.loadAdapter(name, join(folder, name.replace("run-", "")));
  const server = await listen(createApi({ model }), { port: 0 });
  try {
    const { method, path, body } = request;
    const headers = { "content-type": "application/json" };
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(filled(body, folder)) };
    const response = await fetch(server.url + path, { method, ...sent });
    const media = response.headers.get("content-type")?.split(";")[0];
    return { status: response.status, media, value: readAnswer(media, await response.text()) };
  } finally {
    await server.close();
  }
}

describe("answers have the shape of a real vLLM's", () => {
  test.each(contract.cases.map((each) => [each.name, each] as const))("%s", async (_name, each) => {
    const got = await answer(each);
    expect(got.status).toBe(each.status);
    // vLLM names no type for its plain texts; ours says text/plain.
    if (each.media !== undefined) expect(got.media).toBe(each.media);
    else expect([undefined, "text/plain"]).toContain(got.media);
    expect(differences(shapeOf(got.value), contract.shapes[each.shape] ?? {})).toEqual([]);
    const { error, choices, usage } = got.value as Reply;
    if (error) expect(error.code).toBe(each.status);
    if (choices && usage) expectConsistent(choices, usage);
  });
});

test("a shape that lacks a field, has one more or another type is seen", () => {
  const expected = contract.shapes.completion_base_greedy ?? {};
  const { ".choices[].token_ids": _, ...less } = expected;
  expect(differences(less, expected)).toEqual([".choices[].token_ids: missing"]);
  expect(differences({ ...expected, ".extra": ["null"] }, expected)).toEqual([".extra: not in the contract"]);
  expect(differences({ ...expected, ".usage.total_tokens": ["number"] }, expected)).toEqual([
    ".usage.total_tokens: number, expected integer",
  ]);
});

interface Reply {
  readonly error?: { readonly code: number };
  readonly choices?: readonly ReplyChoice[];
  readonly usage?: Readonly<Record<"prompt_tokens" | "completion_tokens" | "total_tokens", number>>;
}

interface ReplyChoice {
  readonly token_ids: readonly number[];
  readonly prompt_token_ids?: readonly number[];
  readonly logprobs: {
    readonly tokens?: readonly string[];
    readonly token_logprobs?: readonly number[];
    readonly text_offset?: readonly number[];
    readonly content?: readonly object[];
  } | null;
}

/** What types cannot say: a logprob a token, and counts that count. */
function expectConsistent(choices: readonly ReplyChoice[], usage: NonNullable<Reply["usage"]>): void {
  for (const { logprobs, token_ids, prompt_token_ids } of choices) {
    const { tokens, token_logprobs, text_offset, content } = logprobs ?? {};
    const lengths = [tokens, token_logprobs, text_offset, content].flatMap((list) => list?.length ?? []);
    const echoed = usage.completion_tokens === 1 && lengths[0] === prompt_token_ids?.length;
    if (!echoed) for (const length of lengths) expect(length).toBe(token_ids.length);
  }
  expect(usage.completion_tokens).toBe(choices.reduce((sum, { token_ids }) => sum + token_ids.length, 0));
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
}
