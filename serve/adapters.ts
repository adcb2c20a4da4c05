import type { Hono } from "hono";
import { z } from "zod";
import { ApiError } from "./api-error.ts";
import type { Api } from "./api-options.ts";
import { readBody } from "./body.ts";
import { bool, orElse, text } from "./lax.ts";
import { ServedError } from "./served-model.ts";

const loadSchema = z.looseObject({ lora_name: text, lora_path: text, load_inplace: orElse(bool, false) });
const unloadSchema = z.looseObject({ lora_name: text });

const invalid = (message: string) => new ApiError(400, "InvalidUserInput", message);

export function adapters(app: Hono, api: Api): void {
  const { model } = api;

  app.post("/v1/load_lora_adapter", async (c) => {
    const { lora_name: name, lora_path: path, load_inplace } = (await readBody(c, loadSchema)).parsed;
    if (name === "" || path === "") throw invalid("Both 'lora_name' and 'lora_path' must be provided.");
    const there = model.cards().find(({ id }) => id === name);
    if (there?.parent === null)
      throw invalid(`The lora adapter '${name}' conflicts with a served base model.`);
    if (there && !load_inplace) throw loaded(name);
    try {
      if (there) await replace(name, path, there.root);
      else await model.loadAdapter(name, path);
    } catch (error) {
      throw loadFailure(error, name);
    }
    return c.body(words(`Success: LoRA adapter '${name}' added successfully.`));
  });

  app.post("/v1/unload_lora_adapter", async (c) => {
    const { lora_name: name } = (await readBody(c, unloadSchema)).parsed;
    if (name === "") throw invalid("'lora_name' needs to be provided to unload a LoRA adapter.");
    const there = model.cards().some(({ id, parent }) => id === name && parent !== null);
    if (!there) throw missing(name);
    try {
      await model.unloadAdapter(name);
    } catch (error) {
      throw error instanceof ServedError && error.kind === "adapterUnknown" ? missing(name) : error;
    }
    return c.body(words(`Success: LoRA adapter '${name}' removed successfully.`));
  });

  /** The old one comes back when the new one cannot be loaded. */
  async function replace(name: string, path: string, old: string): Promise<void> {
    await model.unloadAdapter(name);
    try {
      await model.loadAdapter(name, path);
    } catch (error) {
      await model.loadAdapter(name, old);
      throw error;
    }
  }
}

/** The path stays unsaid, as vLLM leaves it: who asked knows it. */
function loadFailure(error: unknown, name: string): unknown {
  if (!(error instanceof ServedError)) return error;
  if (error.kind === "adapterExists") return loaded(name);
  if (error.kind !== "adapterMissing") return error;
  return new ApiError(404, "NotFoundError", `Loading lora ${name} failed: No adapter found for <path>`);
}

const loaded = (name: string) =>
  invalid(
    `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`,
  );

const missing = (name: string) =>
  new ApiError(404, "NotFoundError", `The lora adapter '${name}' cannot be found.`);

/** Bytes, so that no content type is added: vLLM sends none with these. */
const words = (said: string) => new Uint8Array(Buffer.from(said));
