import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { endIdsSchema, readModelFile, readModelJson, tokenizerConfigSchema } from "./model-folder.ts";
import { tinyTokenizer } from "./tiny-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { checkVocabulary, type Vocabulary } from "./vocabulary.ts";

const tokenizerJsonSchema = z.looseObject({
  added_tokens: z
    .array(z.looseObject({ id: z.int().min(0), content: z.string(), special: z.boolean().default(false) }))
    .default([]),
  model: z.looseObject({ type: z.string().optional() }),
});

/** The tokenizer of a model folder: `tokenizer.json`, or our own `vocabulary.json`. Throws DataError. */
export function loadTokenizer(folder: string): Tokenizer {
  if (!existsSync(folder))
    throw new DataError({
      where: folder,
      what: "the model folder does not exist",
      next: "Check `model.path`; it must be a local Hugging Face folder.",
    });
  const own = ownVocabulary(folder);
  return own ? tinyTokenizer(own, join(folder, "vocabulary.json")) : huggingFaceTokenizer(folder);
}

/** The vocabulary of a folder of ours; undefined for other models. Throws DataError. */
export function ownVocabulary(folder: string): Vocabulary | undefined {
  const own = readModelJson(folder, "vocabulary.json", z.unknown());
  return own === undefined ? undefined : checkVocabulary(own, join(folder, "vocabulary.json"));
}

function huggingFaceTokenizer(folder: string): Tokenizer {
  const where = join(folder, "tokenizer.json");
  const text = readModelFile(folder, "tokenizer.json");
  const json = readModelJson(folder, "tokenizer.json", tokenizerJsonSchema);
  if (text === undefined || json === undefined)
    throw new DataError({
      where: folder,
      what: "no tokenizer",
      got: "neither tokenizer.json nor vocabulary.json",
      expected: "a Hugging Face folder with tokenizer.json (the fast tokenizer's file)",
      next: "Copy tokenizer.json from the model's page, or save it with AutoTokenizer.save_pretrained.",
    });
  const config = readModelJson(folder, "tokenizer_config.json", tokenizerConfigSchema) ?? {};
  let inner: HuggingFaceTokenizer;
  try {
    inner = new HuggingFaceTokenizer(json, config);
  } catch (cause) {
    const got = (cause as Error).message;
    throw new DataError({ where, what: "the tokenizer cannot be built", got, cause });
  }
  const vocabSize = 1 + largestId(inner);
  if (vocabSize === 0) throw new DataError({ where, what: "the vocabulary is empty" });
  const ends = [
    readModelJson(folder, "generation_config.json", endIdsSchema),
    readModelJson(folder, "config.json", endIdsSchema),
  ];
  const named = (token: string | null | undefined) => (token ? inner.token_to_id(token) : undefined);
  const eosIds = unique([...ends.flatMap((file) => file?.eos_token_id ?? []), named(config.eos_token)]);
  const odd = eosIds.find((id) => id < 0 || id >= vocabSize);
  if (odd !== undefined || eosIds.length === 0)
    throw new DataError({
      where: folder,
      what: odd === undefined ? "no end-of-text token" : "the end-of-text id is outside the vocabulary",
      expected: `eos_token_id in generation_config.json or config.json, 0 to ${vocabSize - 1}`,
      ...(odd === undefined ? {} : { got: String(odd) }),
      next: "Name it there, or `eos_token` in tokenizer_config.json.",
    });
  const padId = named(config.pad_token) ?? ends.find((file) => file?.pad_token_id)?.pad_token_id ?? eosIds[0];
  return {
    fingerprint: createHash("sha256").update(text).digest("hex"),
    vocabSize,
    eosIds,
    padId: padId as number,
    specialIds: unique([...eosIds, ...json.added_tokens.flatMap(({ id, special }) => (special ? id : []))]),
    encode: (input) => (input === "" ? [] : [...inner.encode(input, { add_special_tokens: false }).ids]),
    encodeWhole: (input) => [...inner.encode(input, { add_special_tokens: true }).ids],
    piece: (id) => inner.id_to_token(id),
    decode(ids) {
      // Checkpoints pad their vocabulary: ids beyond the tokenizer's have no text.
      const known = ids.filter((id) => inner.id_to_token(id) !== undefined);
      return known.length === 0
        ? ""
        : inner.decode(known, { skip_special_tokens: false, clean_up_tokenization_spaces: false });
    },
  };
}

function largestId(inner: HuggingFaceTokenizer): number {
  let largest = -1;
  for (const id of inner.get_vocab(true).values()) largest = Math.max(largest, id);
  for (const id of inner.get_added_tokens_decoder().keys()) largest = Math.max(largest, id);
  return largest;
}

function unique(ids: (number | undefined)[]): number[] {
  return [...new Set(ids.filter((id) => id !== undefined))];
}
