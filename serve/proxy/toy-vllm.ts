import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { byteTokenizer } from "../../rollout/testing.ts";

export type Body = Readonly<Record<string, unknown>>;
/** What the toy says: a turn of text, or an answer of its own. */
export type Said = string | { readonly status: number; readonly body: unknown };

const tokenizer = byteTokenizer();

/** A toy of vLLM's API over bytes: it renders a message a line, says what the script says, and gives ids and logprobs when asked. */
export async function toyVllm(script: (body: Body, call: number) => Said) {
  const bodies: Body[] = [];
  const heard: { path: string; authorization: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    const body = await jsonOf(request);
    const path = request.url ?? "";
    heard.push({ path, authorization: request.headers.authorization });
    const { status, body: said } = answer(path, body);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(said));
  });
  const answer = (path: string, body: Body): { status: number; body: unknown } => {
    if (path === "/v1/models")
      return { status: 200, body: { object: "list", data: [{ id: "base", object: "model" }] } };
    if (path === "/detokenize")
      return { status: 200, body: { prompt: tokenizer.decode(body.tokens as number[]) } };
    const call = bodies.push(body) - 1;
    const said = script(body, call);
    return typeof said === "string"
      ? { status: 200, body: reply(path.endsWith("/chat/completions"), body, said) }
      : said;
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Bodies of completion calls. */
    bodies,
    heard,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The fields of a real vLLM 0.32 answer that clients and the proxy read. */
function reply(chat: boolean, body: Body, text: string): Body {
  const messages = body.messages as { role: string; content: string }[] | undefined;
  const written = messages?.map(({ role, content }) => `${role}: ${content}<eos>`).join("");
  const prompt = chat ? tokenizer.encode(`${written}assistant: `) : promptIds(body.prompt);
  const tokens = [...tokenizer.encode(text), 256];
  const ids = body.return_token_ids === true;
  const logprobs = tokens.map((_, i) => -0.25 - i / 8);
  const shared = { index: 0, finish_reason: "stop", stop_reason: null, ...(ids && { token_ids: tokens }) };
  const choice = chat
    ? {
        ...shared,
        message: { role: "assistant", content: text, refusal: null, tool_calls: [] },
        logprobs: body.logprobs ? { content: logprobs.map((logprob) => ({ token: "?", logprob })) } : null,
      }
    : {
        ...shared,
        ...{ text, ...(ids && { prompt_token_ids: prompt }) },
        logprobs: body.logprobs == null ? null : { token_logprobs: logprobs, tokens: tokens.map(String) },
      };
  return {
    id: "x-1",
    object: chat ? "chat.completion" : "text_completion",
    model: body.model,
    choices: [choice],
    usage: {
      prompt_tokens: prompt.length,
      completion_tokens: tokens.length,
      total_tokens: prompt.length + tokens.length,
    },
    ...(chat && ids && { prompt_token_ids: prompt }),
  };
}

const promptIds = (prompt: unknown) =>
  typeof prompt === "string" ? tokenizer.encode(prompt) : (prompt as number[]);

async function jsonOf(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || "{}") as Body;
}
