import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import type { Config } from "../configs/schema.ts";
import { CheckpointError } from "../core/errors.ts";
import { rewardConfig } from "../reward/config.ts";
import { normalizerOf } from "../reward/normalize.ts";
import type { Wording } from "../rollout/conversation.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { createRenderer, loadChatTemplate } from "../rollout/renderer.ts";
import type { EpisodeReader } from "../rollout/stored-episode.ts";
import type { Origin } from "../track/export/provenance.ts";
import { listCheckpoints, openRunFolder } from "../track/run-folder.ts";
import { episodeReader, wordingFor } from "./episode-reader.ts";
import { readSummary } from "./run-record.ts";
import { tokenizerFiles } from "./tokenizer-files.ts";

/** A run as its exports need it: how it worded its episodes, and where they come from. No weights are read. */
export interface FinishedRun {
  readonly folder: string;
  readonly config: Config;
  readonly wording: Wording;
  readonly reader: EpisodeReader;
  readonly origin: Origin;
}

/** @throws CheckpointError for what is no run folder, or one whose tokenizer is gone */
export function openFinishedRun(path: string): FinishedRun {
  const folder = openRunFolder(path);
  const { config } = loadConfig(join(folder.path, "config.yaml"));
  const words = [
    folder.path,
    ...(existsSync(folder.checkpoints) ? checkpointPaths(folder) : []),
    config.model.path,
  ]
    .filter((each) => each !== undefined)
    .find((each) => tokenizerFiles(each).length > 0);
  if (words === undefined)
    throw new CheckpointError({
      what: "the tokenizer of the run is gone",
      where: folder.path,
      expected: "vocabulary.json or tokenizer.json in the run, one of its checkpoints, or its base model",
      next: "Put the base model back where model.path says.",
    });
  const tokenizer = loadTokenizer(words);
  const template = config.model.tiny ? undefined : loadChatTemplate(words);
  const renderer = createRenderer(tokenizer, config.rollout.prompt, template);
  const reader = episodeReader(config, { tokenizer, renderer, template });
  return {
    folder: folder.path,
    config,
    reader,
    wording: wordingFor(config, { tokenizer, renderer, template }),
    origin: {
      run: config.run.name,
      partial: readSummary(folder)?.status !== "done",
      scorer: scorerName(config),
      tokenizer: tokenizer.fingerprint,
    },
  };
}

const checkpointPaths = (folder: ReturnType<typeof openRunFolder>) =>
  listCheckpoints(folder)
    .toReversed()
    .map((each) => each.path);

/** "dmi squad@1 last": preset, the keys that differ from their defaults, normaliser with its version, the answer judged. */
export function scorerName({ reward }: Pick<Config, "reward">): string {
  const { preset, normalizer, extraction, ...rest } = reward;
  const { id, version } = normalizerOf(normalizer);
  const defaults: Readonly<Record<string, unknown>> = rewardConfig.parse({ preset });
  const own = Object.entries(rest)
    .map(([key, value]) => [key, JSON.stringify(value)] as const)
    .filter(([key, text]) => text !== undefined && text !== JSON.stringify(defaults[key]))
    .map(([key, text]) => `${key}=${text}`);
  return [preset, ...own, `${id}@${version}`, extraction].join(" ");
}
