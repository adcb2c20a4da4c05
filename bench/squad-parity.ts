/**
 * Compares every normaliser and the answer scores under it with real Python on random strings (opt-in, needs Python).
 *   npx tsx bench/squad-parity.ts [count] [python]
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Rng, rng } from "../core/rng.ts";
import { goldOf, scoreAnswer } from "../reward/answers.ts";
import { type Normalizer, normalizers } from "../reward/normalize.ts";

const count = Number(process.argv[2] ?? 200_000);
const python = process.argv[3] ?? "python3";
const all = Object.values<Normalizer>(normalizers);

/** Strings where the two languages are known to part: articles at odd edges, every kind of space, case, surrogates. */
const pieces =
  "a|an|the|A|An|THE|a.|the-|yes|no|New|York|1,000|İ|Σ|ΑΣ|ß|ﬁ|K|é|e\u0301|\u0303|ا|中|😀|_|'|’|–|.|-|\u00ad|\u200b|\u200d|" +
  "True|False|1|000|12|,|.5|(|)|[|«|。|‘|“|—|−|´|¨|ﬀ|⅓|\u{1ccd6}|\u1acf|$|%|+|#| |\t|\n|\v|\f|\r|\x1c|\x1f|\x85|\xa0|\u1680|\u2003|\u2028|\u202f|\u3000|\ufeff|\ud800|\udfff|\0|٣|²|Ⅷ|ª|\u1c89|\u{11f02}";
const list = pieces.split("|");

function randomText(draw: Rng): string {
  let text = "";
  for (let n = draw.int(12); n > 0; n--) {
    const kind = draw();
    if (kind < 0.6) text += draw.pick(list);
    else if (kind < 0.8) text += String.fromCharCode(draw.int(128));
    else if (kind < 0.9) text += String.fromCharCode(draw.int(0x3000));
    else text += String.fromCodePoint(draw.int(0x110000));
  }
  return text;
}

function* records() {
  for (let i = 0; i < count; i++) {
    const draw = rng(1, "squad-parity", i);
    const prediction = draw() < 0.02 ? draw.pick(["True", "False"]) : randomText(draw);
    const goldenAnswers = [randomText(draw), draw() < 0.5 ? `the ${prediction}!` : randomText(draw)];
    yield { prediction, goldenAnswers };
  }
}

const peer = spawn(python, [fileURLToPath(new URL("peers/normalizers.py", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
});
peer.on("error", (error) => {
  console.error(`cannot run ${python}: ${error.message}`);
  process.exitCode = 2;
});
const answers = createInterface({ input: peer.stdout });
const feed = (async () => {
  for (const record of records())
    if (!peer.stdin.write(`${JSON.stringify(record)}\n`))
      await new Promise((go) => peer.stdin.once("drain", go));
  peer.stdin.end();
})();

const ours = records();
let seen = 0;
const different = Object.fromEntries(all.map(({ id }) => [id, 0]));
for await (const line of answers) {
  const record = ours.next().value;
  if (!record) throw new Error("Python answered more often than it was asked");
  const theirs = JSON.parse(line) as Record<string, [string, number, number, number]>;
  for (const normalizer of all) {
    const [text, em, f1, coverEm] = theirs[normalizer.id] as [string, number, number, number];
    const got = scoreAnswer(record.prediction, goldOf(record.goldenAnswers, normalizer), normalizer);
    const normal = normalizer.normalize(record.prediction);
    const equal =
      normal === text && got.em === em && Math.abs(got.f1 - f1) < 1e-12 && got.coverEm === coverEm;
    if (!equal && (different[normalizer.id] as number)++ < 5)
      console.log(
        normalizer.id,
        JSON.stringify({ ...record, normal, ...got }),
        "python",
        JSON.stringify(theirs[normalizer.id]),
      );
  }
  seen++;
}
await feed;
console.log(`${seen} records, different: ${JSON.stringify(different)}`);
if (Object.values(different).some((n) => n > 0) || seen !== count) process.exitCode = 1;
