/**
 * Mutated YAML through the config loader: each file either loads or gives one clear error with exit code 2,
 * never a crash, a stack, or an error without a place.
 *
 *     npx tsx bench/fuzz-config.ts [files = 300] [seed = 1]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { packageRoot } from "../core/package-root.ts";
import { type Rng, rng } from "../core/rng.ts";
import { reportOf, showReport } from "../scripts/report-error.ts";

const [files = 300, seed = 1] = process.argv.slice(2).map(Number);
const configs = join(packageRoot(), "configs");
const sources = readdirSync(configs, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => {
    const text = readFileSync(join(configs, name), "utf8");
    // A base alone has no model, and its own base lies elsewhere: mended, so that the mutation decides.
    const mended = text.replace(/^extends: (?!forager:)(?:base\/)?/m, "extends: forager:base/");
    return name.startsWith("base") ? `${mended}model: { tiny: { contextTokens: 4096 } }\n` : mended;
  });

const values = [
  "null",
  "true",
  "-1",
  "0",
  "1e309",
  ".nan",
  '"8"',
  "[]",
  "{}",
  "[1, 2]",
  "{a: 1}",
  "~",
  "*x",
  "&x 1",
  "!!set {}",
  "|\n  text",
  "9007199254740993",
  "0x",
  "2026-01-01",
  "''",
  "-",
  "?",
  "{",
  "]",
  "\t",
  "\u0000",
  "\u2028",
  "🦊",
  "<<: *a",
];
const strange = [
  "__proto__",
  "constructor",
  "toString",
  "extends",
  "<<",
  "groupSzie",
  "rl.groupSize",
  "1",
  "",
  "a b",
  "model",
];

/** One change a person, an editor or a merge conflict could make. */
const mutations: readonly ((text: string, draw: Rng) => string)[] = [
  (text, draw) => splice(text, draw.int(text.length), draw.int(4), ""),
  (text, draw) => splice(text, draw.int(text.length), 0, draw.pick(values)),
  (text, draw) => splice(text, draw.int(text.length), 1, String.fromCharCode(draw.int(128))),
  (text, draw) => line(text, draw, (one) => one.replace(/: .*/, `: ${draw.pick(values)}`)),
  (text, draw) => line(text, draw, (one) => one.replace(/[A-Za-z]+:/, `${draw.pick(strange)}:`)),
  (text, draw) => line(text, draw, (one) => `${one}\n${one}`),
  (text, draw) => line(text, draw, (one) => ` ${one}`),
  (text, draw) => line(text, draw, () => ""),
  (text, draw) => line(text, draw, (one) => one.replace(/^ +/, "")),
  (text, draw) => text.slice(0, draw.int(text.length)),
  (text) => `${text}\n---\n${text}`,
  (text, draw) =>
    `${text}\nextends: ${draw.pick(["fuzz.yaml", "none.yaml", "[fuzz.yaml]", "7", ".", "forager:nothing.yaml", '"\\0"'])}\n`,
  (text, draw) => `${text}\n${draw.pick(strange)}: ${draw.pick(values)}\n`,
];

function splice(text: string, at: number, remove: number, insert: string): string {
  return text.slice(0, at) + insert + text.slice(at + remove);
}
function line(text: string, draw: Rng, change: (one: string) => string): string {
  const lines = text.split("\n");
  const at = draw.int(lines.length);
  return lines.with(at, change(lines[at] as string)).join("\n");
}

const folder = mkdtempSync(join(tmpdir(), "forager-fuzz-"));
const path = join(folder, "fuzz.yaml");
const outcomes = { loaded: 0, refused: 0 };
const bad: string[] = [];
for (let i = 0; i < files; i++) {
  const draw = rng(seed, "fuzz", i);
  let text = draw.pick(sources);
  for (let n = 1 + draw.int(3); n > 0; n--) text = draw.pick(mutations)(text, draw);
  writeFileSync(path, text);
  try {
    loadConfig(path, draw() < 0.1 ? [`${draw.pick(strange)}=${draw.pick(values)}`] : []);
    outcomes.loaded++;
  } catch (error) {
    const report = reportOf(error);
    const said = showReport(report);
    const clear =
      report.exitCode === 2 && report.complaint.where !== undefined && !/\n\s+at .*:\d+:\d+/.test(said);
    if (clear) outcomes.refused++;
    else bad.push(`file ${i}: exit code ${report.exitCode}\n${said}\n${text}`);
  }
}
rmSync(folder, { recursive: true, force: true });
for (const one of bad.slice(0, 5)) console.error(`${one}\n`);
console.log(
  `${files} files: ${outcomes.loaded} loaded, ${outcomes.refused} refused clearly, ${bad.length} not`,
);
process.exitCode = bad.length > 0 ? 1 : 0;
