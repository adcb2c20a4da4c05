import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../core/package-root.ts";
import { rng } from "../../core/rng.ts";
import type { Arr } from "../../engine/array.ts";
import { openEngine } from "../../engine/open.ts";
import { writeAdapterFolder } from "../../rl/adapter-folder.ts";
import { loadPolicy } from "../../rl/policy/checkpoint.ts";
import { initLora, type LoraConfig } from "../../rl/policy/lora.ts";
import { PROJECTION_NAMES } from "../../rl/policy/model-config.ts";
import { loadTokenizer } from "../../rollout/hf-tokenizer.ts";
import { loadChatTemplate } from "../../rollout/renderer.ts";
import { createApi } from "../../serve/api.ts";
import {
  type Contract,
  type ContractCase,
  differences,
  filled,
  readAnswer,
  shapeOf,
} from "../../serve/contract-shape.ts";
import { listen } from "../../serve/listen.ts";
import { servedPolicy } from "../../serve/served-policy.ts";
import type { Report } from "./report.ts";

const lora: LoraConfig = { rank: 8, alpha: 16, rsLora: false, targetModules: PROJECTION_NAMES };

/** Two adapters whose effect shows: B is drawn. */
async function writeAdapters(model: string, folder: string): Promise<void> {
  const { config } = loadPolicy(model, { training: "full", seed: 0 });
  for (const version of [1, 2]) {
    const params = Object.fromEntries(
      Object.entries(initLora(config, lora, version)).map(([name, matrix]): [string, Arr] => {
        if (name.endsWith(".lora_A.weight")) return [name, matrix];
        const draw = rng(version, "contract", name);
        const data = Float32Array.from(matrix.data, () => (2 * draw() - 1) * 0.03 * version);
        return [name, { ...matrix, data }];
      }),
    );
    await writeAdapterFolder(join(folder, `v${version}`), { lora, params, base: model });
  }
}

interface Answer {
  readonly status: number;
  readonly media: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

async function send(url: string, { method, path, body }: ContractCase["request"]): Promise<Answer> {
  const sent =
    body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(url + path, { method, ...sent });
  const media = response.headers.get("content-type")?.split(";")[0];
  return {
    status: response.status,
    media,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
  };
}

const post = (url: string, path: string, body: unknown) => send(url, { method: "POST", path, body });

/** Brings a server to the state that a case starts from. */
async function prepare(url: string, { given }: ContractCase, folder: string): Promise<void> {
  for (const name of ["run-v1", "run-v2"]) {
    const known = given.includes(name);
    const path = known ? "/v1/load_lora_adapter" : "/v1/unload_lora_adapter";
    await post(url, path, { lora_name: name, ...(known && { lora_path: join(folder, name.slice(4)) }) });
  }
}

/**
 * Asks vLLM and `forager serve` the same of the same model, each case of the contract: status and shape must be equal,
 * and greedy texts token for token. What vLLM said is kept in `recordings`, for scripts/integration/shapes.ts.
 */
export async function compareContract(
  vllmUrl: string,
  o: { model: string; folder: string; report: Report },
): Promise<void> {
  const { report } = o;
  const adapters = join(o.folder, "adapters");
  await writeAdapters(o.model, adapters);
  const recordings = join(o.folder, "recordings");
  mkdirSync(recordings, { recursive: true });
  const contract = JSON.parse(
    readFileSync(join(packageRoot(), "serve/fixtures/contract.json"), "utf8"),
  ) as Contract;
  const engine = await openEngine({});
  const model = servedPolicy({
    engine,
    policy: loadPolicy(o.model, { training: "full", seed: 0 }),
    tokenizer: loadTokenizer(o.model),
    chatTemplate: loadChatTemplate(o.model),
    name: "base",
    contextTokens: 2048,
    maxLoraRank: 16,
  });
  const ours = await listen(createApi({ model }), { port: 0 });
  let equal = 0;
  let greedy = 0;
  try {
    for (const each of contract.cases) {
      const request = { ...each.request, body: filled(each.request.body, adapters) };
      await prepare(vllmUrl, each, adapters);
      await prepare(ours.url, each, adapters);
      const [theirs, own] = [await send(vllmUrl, request), await send(ours.url, request)];
      const [theirValue, ownValue] = [readAnswer(theirs.media, theirs.text), readAnswer(own.media, own.text)];
      const { status, headers } = theirs;
      const recording = {
        request,
        status,
        headers,
        response: theirs.media === "application/json" ? theirValue : theirs.text,
      };
      writeFileSync(join(recordings, `${each.name}.json`), `${JSON.stringify(recording)}\n`);
      const odd = [
        ...(theirs.status === own.status ? [] : [`status ${own.status}, vLLM ${theirs.status}`]),
        ...differences(shapeOf(ownValue), freely(shapeOf(theirValue))),
      ];
      if (odd.length === 0) equal++;
      else report.check(`contract ${each.name}`, false, odd.slice(0, 4).join("; "));
      const same = sameTokens(request.body, theirValue, ownValue);
      if (same === true) greedy++;
      else if (same !== undefined) report.check(`tokens ${each.name}`, false, same);
    }
  } finally {
    await ours.close();
    await model.close();
    await engine.dispose();
  }
  report.check(
    "forager serve answers as vLLM does",
    equal === contract.cases.length,
    `${equal} of ${contract.cases.length} calls with equal status and shape, ${greedy} greedy texts equal token for token`,
  );
}

/** Whether a sampled text ends or is cut is chance; what vLLM names as reasons may be either. */
function freely(shape: ReturnType<typeof shapeOf>): ReturnType<typeof shapeOf> {
  const path = ".choices[].finish_reason";
  return shape[path] ? { ...shape, [path]: ['"length"', '"stop"'] } : shape;
}

interface Choices {
  readonly choices?: readonly {
    readonly token_ids?: readonly number[] | null;
    readonly logprobs?: { readonly token_logprobs?: readonly number[] } | null;
  }[];
}

/** Greedy texts of one model: true, undefined where there is nothing to compare, or what differs. */
function sameTokens(body: unknown, theirs: unknown, ours: unknown): true | string | undefined {
  if ((body as { temperature?: number } | undefined)?.temperature !== 0) return undefined;
  const of = (value: unknown) => ((value as Choices)?.choices ?? []).map(({ token_ids: ids }) => ids ?? []);
  const [a, b] = [of(theirs), of(ours)];
  if (a.flat().length === 0) return undefined;
  return JSON.stringify(a) === JSON.stringify(b)
    ? true
    : `vLLM ${JSON.stringify(a)}, ours ${JSON.stringify(b)}`;
}
