import OpenAI from "openai";
import { type Stub, type StubOptions, startStub } from "./stub.ts";
import { parseStubScript } from "./stub-script.ts";

/** Toys for tests of the API: a scripted server with the official client. */
const open: Stub[] = [];

/** Closes every server that `served` made. */
export async function closeServed(): Promise<void> {
  for (const stub of open.splice(0)) await stub.close();
}

const script = parseStubScript({
  lines: [
    { question: "capital", say: "It is Paris, of course." },
    { say: ["first of three", "second of three", "the third of three"] },
  ],
});

export async function served(options: StubOptions = {}): Promise<{ stub: Stub; client: OpenAI }> {
  const stub = await startStub({ name: "base", script, adapterFiles: "ignore", ...options });
  open.push(stub);
  const client = new OpenAI({ baseURL: `${stub.url}/v1`, apiKey: "key", maxRetries: 0 });
  return { stub, client };
}

/** What vLLM adds to the official types. */
export interface Extra {
  readonly token_ids: number[] | null;
  readonly prompt_token_ids: number[] | null;
  readonly prompt_logprobs: (Record<string, { logprob: number; rank: number }> | null)[] | null;
  readonly stop_reason: string | number | null;
}
type CompletionBody = OpenAI.CompletionCreateParamsNonStreaming & Record<string, unknown>;

export async function complete(client: OpenAI, body: Partial<CompletionBody>) {
  const reply = await client.completions.create({
    model: "base",
    prompt: "capital?",
    ...body,
  } as CompletionBody);
  return { reply, choices: reply.choices as (OpenAI.CompletionChoice & Extra)[] };
}

export const bytes = (text: string): number[] => [...Buffer.from(text)];

/** Waits for an event that has no promise. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
