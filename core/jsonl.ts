import { createReadStream, existsSync } from "node:fs";
import { createGunzip } from "node:zlib";
import type { ZodType } from "zod";
import { DataError } from "./errors.ts";

export interface Line<T> {
  readonly value: T;
  /** 1-based. */
  readonly line: number;
}

/**
 * Reads JSON Lines (plain or .gz) with bounded memory, one checked record at a time.
 * Lines end at "\n" bytes only, never at U+2028. Blank lines are skipped.
 * @throws DataError naming file:line for a missing file, malformed JSON, or a record that breaks the schema.
 */
export async function* readJsonl<T>(path: string, schema: ZodType<T>): AsyncGenerator<Line<T>> {
  if (!existsSync(path))
    throw new DataError({
      what: "file not found",
      where: path,
      next: "Check the path: in a YAML file it is relative to that file, elsewhere to the working directory.",
    });
  let line = 0;
  for await (const text of lines(path)) {
    line++;
    if (text.trim() === "") continue;
    yield { value: parseRecord(text, `${path}:${line}`, schema), line };
  }
}

function parseRecord<T>(text: string, where: string, schema: ZodType<T>): T {
  let json: unknown;
  try {
    json = JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch (cause) {
    throw new DataError({
      what: "malformed JSON",
      where,
      got: excerpt(text),
      expected: "one JSON object a line",
      next: "Mend this line, or leave it out.",
      cause,
    });
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new DataError({
    what: `field \`${issue?.path.join(".") || "(record)"}\` is wrong`,
    where,
    got: excerpt(text),
    expected: issue?.message ?? "another record",
    next: "Mend this line, or leave it out.",
  });
}

async function* lines(path: string): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of readChunks(path)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      rest.push(chunk.subarray(start, end));
      yield decode(Buffer.concat(rest));
      rest = [];
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield decode(last);
}

/** The bytes of a file, unpacked when its name ends in .gz. @throws DataError when it cannot be read */
export async function* readChunks(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path);
  const bytes = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  file.on("error", (error) => bytes.destroy(error));
  try {
    yield* bytes as AsyncIterable<Buffer>;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause)
      throw new DataError({ what: "cannot read the file", where: path, got: cause.message, cause });
    throw cause;
  } finally {
    file.destroy(); // a reader that stops early must not leave the file open
  }
}

const decode = (bytes: Buffer) => bytes.toString("utf8").replace(/\r$/, "");
const excerpt = (text: string) => (text.length > 120 ? `${text.slice(0, 117)}...` : text);
