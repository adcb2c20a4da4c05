import { existsSync } from "node:fs";
import { join } from "node:path";

/** What a tokenizer may consist of, as Hugging Face and we name the files. */
const names = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "vocabulary.json",
];

/** The tokenizer's files, to be copied beside weights we write: each from the first of the folders that has it. */
export function tokenizerFiles(...folders: readonly string[]): string[] {
  return names.flatMap(
    (name) => folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? [],
  );
}
