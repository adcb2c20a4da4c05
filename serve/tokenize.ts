import type { Hono } from "hono";
import { z } from "zod";
import type { Api } from "./api-options.ts";
import { invalidField, readBody } from "./body.ts";
import { renderingFields, renderMessages } from "./chat-request.ts";
import { servedName } from "./completion-plan.ts";
import { bool, int, orElse, text } from "./lax.ts";

const common = { model: orElse(text, ""), return_token_strs: orElse(bool, false) };
const either = z.looseObject({ prompt: text.nullish(), messages: z.unknown().optional() });
const promptSchema = z.looseObject({ ...common, prompt: text, add_special_tokens: orElse(bool, true) });
const chatSchema = z.looseObject({ ...common, ...renderingFields });
const detokenizeSchema = z.looseObject({ model: orElse(text, ""), tokens: z.array(int) });

export function tokenize(app: Hono, api: Api): void {
  const { model } = api;
  const { tokenizer } = model;

  app.post("/tokenize", async (c) => {
    const { parsed } = await readBody(c, either);
    const schema = parsed.messages === undefined ? promptSchema : chatSchema;
    const { parsed: request } = await readBody<z.infer<typeof promptSchema> | z.infer<typeof chatSchema>>(
      c,
      schema,
    );
    servedName(api, request.model);
    const tokens = tokensOf(request);
    return c.json({
      count: tokens.length,
      max_model_len: model.contextTokens,
      tokens,
      token_strs: request.return_token_strs
        ? tokens.map((id) => tokenizer.piece?.(id) ?? tokenizer.decode([id]))
        : null,
    });
  });

  app.post("/detokenize", async (c) => {
    const { parsed } = await readBody(c, detokenizeSchema);
    servedName(api, parsed.model);
    if (parsed.tokens.some((id) => id < 0))
      throw invalidField("tokens", "Input should be greater than or equal to 0");
    return c.json({ prompt: tokenizer.decode(parsed.tokens) });
  });

  function tokensOf(request: z.infer<typeof promptSchema> | z.infer<typeof chatSchema>): number[] {
    if ("messages" in request) return renderMessages(api, request as z.infer<typeof chatSchema>).tokens;
    const { prompt, add_special_tokens } = request as z.infer<typeof promptSchema>;
    return add_special_tokens && tokenizer.encodeWhole
      ? tokenizer.encodeWhole(prompt)
      : tokenizer.encode(prompt);
  }
}
