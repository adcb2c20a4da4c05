import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { ConfigError, exitCode, ForagerError } from "../core/errors.ts";
import { writeFolderAtomic } from "../core/files.ts";
import { TENSORFLOW_FOLDER } from "../engine/tensorflow.ts";
import { unpackWheel } from "./wheel.ts";

/** What each kind needs from the npm registry and from the Python registry, pinned. */
const kinds = {
  cpu: {
    npm: "@tensorflow/tfjs-node",
    integrity:
      "sha512-uHrXeUlfgkMxTZqHkESSV7zSdKdV0LlsBeblqkuKU9nnfxB1pC6DtoyYVaLxznzZy7WQSegjcohxxCjAf6Dc7w==",
    wheel: "tensorflow-cpu",
    sha256: "2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c",
    size: "274 MB",
  },
  gpu: {
    npm: "@tensorflow/tfjs-node-gpu",
    integrity:
      "sha512-p//NN6DGiN4hInUmIkRffaFVMcdTREUMjPyjW04J7OXvB2zBlQimj61eFKSgRrH3f5TnOfKzb0n56he/B6a4bw==",
    wheel: "tensorflow",
    sha256: "9056fbc9ba04235810b71ae6cbd958a196e8804fb53bbcffbf3e23b56155f124",
    size: "about 600 MB",
  },
} as const;
const TFJS_VERSION = "4.22.0";
const TENSORFLOW_VERSION = "2.21.0";
const headers = {
  npm: "node-api-headers",
  version: "1.9.0",
  integrity:
    "sha512-2oNILP4jXwRB4ywnYKjVk1YyJ96n2D4EOVJO6S3oYZ5PtbJrw3Yt9TpAuX3nBLMuzn74rnfGQrv13pS9vC+YiA==",
} as const;
/** The folder that tfjs-node looks into on Node 20 and later. */
const BINDING = "lib/napi-v8";
const USAGE = "npm run install:tensorflow -- cpu|gpu [--wheel FILE]";

type Kind = keyof typeof kinds;

/**
 * Builds @tensorflow/tfjs-node[-gpu] into `.tensorflow/` of the present folder from registry packages alone: its
 * own install script would download TensorFlow from elsewhere. Needs Linux x64, npm, g++, and pip or a downloaded wheel.
 */
export async function installTensorflow(words: readonly string[]): Promise<void> {
  const { kind, wheel } = parse(words);
  const row = kinds[kind];
  checkMachine(wheel);
  const folder = resolve(TENSORFLOW_FOLDER);
  const scratch = mkdtempSync(join(tmpdir(), "forager-tensorflow-"));
  try {
    const file = wheel ?? download(row, scratch);
    await checkSha256(file, row.sha256);
    await writeFolderAtomic(folder, (made) => build(made, row, file));
    console.log(`${row.npm} ${TFJS_VERSION} is in ${TENSORFLOW_FOLDER}/: ${check(folder, row.npm)}`);
    console.log("Use it with `engine.backend: tensorflow`.");
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function parse(words: readonly string[]): { kind: Kind; wheel?: string } {
  const [kind, flag, wheel, ...rest] = words;
  const fine =
    kind !== undefined &&
    Object.hasOwn(kinds, kind) &&
    (flag === undefined || (flag === "--wheel" && wheel)) &&
    !rest.length;
  if (!fine)
    throw new ConfigError({ what: "which TensorFlow?", got: words.join(" ") || "nothing", expected: USAGE });
  return { kind: kind as Kind, ...(wheel ? { wheel } : {}) };
}

function checkMachine(wheel: string | undefined): void {
  const here = `${process.platform} ${process.arch}`;
  if (here !== "linux x64")
    throw new ConfigError({
      what: "no TensorFlow build for this machine",
      got: here,
      expected: "linux x64",
      next: "Use `engine.backend: cpu` or `webgpu`.",
    });
  if (wheel && !existsSync(wheel)) throw new ConfigError({ what: "no such wheel", where: wheel });
  need("g++", "Install a C++ compiler (Debian: apt-get install g++).");
  if (!wheel) need("python3", `Install Python with pip, or give a wheel you downloaded: ${USAGE}.`);
}

function need(program: string, next: string): void {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
  } catch {
    throw new ConfigError({ what: `${program} is not installed`, next });
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  try {
    execFileSync(program, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });
  } catch (cause) {
    throw new ConfigError({
      what: `${program} failed`,
      got: `${program} ${args.slice(0, 3).join(" ")} …`,
      next: "See its message above.",
      cause,
    });
  }
}

/** The wheel with TensorFlow's libraries and C headers, through pip: nothing of it is run. */
function download(row: (typeof kinds)[Kind], into: string): string {
  console.log(`Downloading ${row.wheel} ${TENSORFLOW_VERSION} (${row.size}) from the Python registry …`);
  const platform = [
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--platform",
    "manylinux_2_27_x86_64",
  ];
  const args = ["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", ...platform];
  run("python3", [...args, "-d", into, `${row.wheel}==${TENSORFLOW_VERSION}`], into);
  const name = readdirSync(into).find((file) => file.endsWith(".whl"));
  if (!name) throw new ConfigError({ what: "pip brought no wheel", where: into });
  return join(into, name);
}

async function checkSha256(file: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  const got = hash.digest("hex");
  if (got !== expected)
    throw new ConfigError({
      what: "the wheel is not the one we know",
      where: file,
      got,
      expected,
      next: "Do not use it; download it again.",
    });
}

async function build(folder: string, row: (typeof kinds)[Kind], wheel: string): Promise<void> {
  writeFileSync(
    join(folder, "package.json"),
    `${JSON.stringify({ name: "forager-tensorflow", private: true }, null, 2)}\n`,
  );
  console.log(`Installing ${row.npm} ${TFJS_VERSION} without its install script …`);
  const wanted = [`${row.npm}@${TFJS_VERSION}`, `${headers.npm}@${headers.version}`];
  run(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", ...wanted],
    folder,
  );
  checkIntegrity(folder, row.npm, row.integrity);
  checkIntegrity(folder, headers.npm, headers.integrity);
  const home = join(folder, "node_modules", row.npm);
  console.log("Unpacking TensorFlow …");
  await unpackWheel(wheel, join(home, "deps"), placeOf);
  console.log("Compiling the binding (about 15 seconds) …");
  mkdirSync(join(home, BINDING), { recursive: true });
  compile(home, join(folder, "node_modules", headers.npm, "include"));
  shareCore(folder);
}

/** Where a file of the wheel goes under deps/, if it is needed at all. */
function placeOf(name: string): string | undefined {
  if (/^tensorflow\/(libtensorflow_(cc|framework)\.so\.2|THIRD_PARTY_NOTICES\.txt)$/.test(name))
    return name.replace("tensorflow/", "lib/");
  const include =
    /^tensorflow\/include\/((tensorflow\/c|xla\/tsl\/c)\/.*|(tensorflow\/core|tsl)\/platform\/ctstring.*)$/.exec(
      name,
    );
  return include ? join("include", include[1] as string) : undefined;
}

function compile(home: string, napi: string): void {
  const deps = join(home, "deps");
  const sources = ["tfjs_backend.cc", "tfjs_binding.cc"].map((file) => join(home, "binding", file));
  const flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-w", "-DNAPI_VERSION=8"];
  const includes = ["-I", napi, "-I", join(deps, "include")];
  const libraries = ["-L", join(deps, "lib"), "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"];
  // Relative to the binding itself, so that the folder may be moved.
  const path = "-Wl,-rpath,$ORIGIN/../../deps/lib";
  run(
    "g++",
    [...flags, ...includes, ...sources, ...libraries, path, "-o", join(home, BINDING, "tfjs_binding.node")],
    home,
  );
}

function checkIntegrity(folder: string, name: string, expected: string): void {
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { integrity?: string } | undefined>;
  };
  const got = lock.packages[`node_modules/${name}`]?.integrity ?? "none";
  if (got !== expected)
    throw new ConfigError({
      what: `${name} is not the package we know`,
      got,
      expected,
      next: "Check your npm registry.",
    });
}

/** One tfjs-core for both: where ours is found from the folder above, the second copy goes. */
function shareCore(folder: string): void {
  const core = "@tensorflow/tfjs-core";
  try {
    createRequire(join(resolve(folder, ".."), "package.json")).resolve(core);
  } catch {
    return;
  }
  rmSync(join(folder, "node_modules", core), { recursive: true, force: true });
}

/** Loads what was built in a process of its own and multiplies two matrices. */
function check(folder: string, name: string): string {
  const code = `const u=require("util");u.isNullOrUndefined??=x=>x==null;u.isArray??=Array.isArray;
    const tf=require(${JSON.stringify(name)});const x=tf.tensor([[1,2],[3,4]]);
    if(tf.matMul(x,x).dataSync().join()!=="7,10,15,22")throw new Error("wrong product");
    console.log("TensorFlow "+tf.backend().binding.TF_Version+(tf.backend().isUsingGpuDevice?" on a GPU":" on the processor"))`;
  const env = { ...process.env, TF_CPP_MIN_LOG_LEVEL: "3" };
  return (
    execFileSync(process.execPath, ["-e", code], { cwd: folder, env, encoding: "utf8" })
      .trim()
      .split("\n")
      .at(-1) ?? ""
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  installTensorflow(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof ForagerError ? error.message : error);
    process.exitCode = exitCode(error);
  });
}
