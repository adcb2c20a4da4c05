import type { Hono } from "hono";
import type { Api } from "./api-options.ts";

export function models(app: Hono, api: Api): void {
  app.get("/v1/models", (c) => {
    const created = api.now();
    const data = api.model.cards().map(({ id, root, parent, contextTokens }) => ({
      ...{ id, object: "model", created, owned_by: "vllm", root, parent, max_model_len: contextTokens },
      permission: [
        {
          id: `modelperm-${api.newId()}`,
          object: "model_permission",
          created,
          allow_create_engine: false,
          allow_sampling: true,
          allow_logprobs: true,
          allow_search_indices: false,
          allow_view: true,
          allow_fine_tuning: false,
          organization: "*",
          group: null,
          is_blocking: false,
        },
      ],
    }));
    return c.json({ object: "list", data });
  });
}
