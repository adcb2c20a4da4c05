/**
 * Which folder may import which: DESIGN's table, the one source of the lint rules in biome.json
 * (`tsx scripts/write-biome.ts`). A missing folder name is a forbidden import.
 */
export const mayImport = {
  core: [],
  engine: ["core"],
  datasets: ["core"],
  env: ["core", "datasets", "engine"],
  rollout: ["core", "datasets", "env"],
  reward: ["core", "datasets", "env", "rollout"],
  rl: ["core", "engine", "datasets", "env", "rollout", "reward"],
  track: ["core", "datasets", "rollout", "reward"],
  eval: ["core", "datasets", "env", "rollout", "reward", "track"],
  serve: ["core", "engine", "datasets", "env", "rollout", "reward", "rl", "track", "eval"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Above the table: configs reads each folder's config, scripts composes everything, the others stand alone. */
const above = ["configs", "scripts", "viewer", "bench", "index.ts"];

interface Pattern {
  readonly group: readonly string[];
  readonly message: string;
}

const tensor: Pattern = {
  group: ["@tensorflow/*", "@tensorflow/**"],
  message: "only engine/ and rl/ may import a tensor library",
};
const onnx: Pattern = {
  group: ["onnxruntime-node", "onnx-proto"],
  message: "only engine/ may import ONNX Runtime",
};
const configsOnly: Pattern = {
  group: ["../*/**", "!../*/config.ts", "!../*/*/config.ts", "!../*/*-config.ts", "!../core/**"],
  message: "configs/ may import core and each folder's config.ts",
};
/** The whole biome.json. */
export function biomeConfig(): object {
  const folders = [...Object.keys(mayImport), ...above];
  const rows = Object.entries(mayImport).map(([folder, may]) => {
    const forbidden = folders.filter(
      (other) => other !== folder && !(may as readonly string[]).includes(other),
    );
    const layers: Pattern = {
      group: forbidden.flatMap(upwards),
      message: `${folder}/ may import: ${may.join(", ") || "nothing"} (DESIGN: one direction, no cycles)`,
    };
    return override([`${folder}/**`], [layers, ...librariesFor(folder)]);
  });
  return {
    files: {
      includes: [
        "**",
        "!dist",
        "!runs",
        "!evals",
        "!node_modules",
        "!**/*.jsonl",
        "!package-lock.json",

        "!configs/**/*.json",
      ],
    },
    formatter: { indentStyle: "space", lineWidth: 110 },
    linter: {
      rules: {
        preset: "recommended",
        style: { useImportType: "error", noNonNullAssertion: "off" },
        suspicious: { noImportCycles: "error", noExplicitAny: "error" },
        correctness: { useImportExtensions: "error" },
      },
    },
    overrides: [
      ...rows,
      override(["configs/**"], [configsOnly, tensor, onnx]),
      override(["scripts/**", "index.ts"], [tensor, onnx]),
    ],
  };
}

/** A folder as it is named in an import from one, two or three levels down. */
function upwards(name: string): string[] {
  const inside = name.endsWith(".ts") ? name : `${name}/**`;
  return ["../", "../../", "../../../"].map((up) => up + inside);
}

function librariesFor(folder: string): Pattern[] {
  if (folder === "engine") return [];
  return folder === "rl" ? [onnx] : [tensor, onnx];
}

function override(includes: readonly string[], patterns: readonly Pattern[]): object {
  return {
    includes,
    linter: { rules: { style: { noRestrictedImports: { level: "error", options: { patterns } } } } },
  };
}
