import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { DataError } from "../../core/errors.ts";

/**
 * Lines of a plain or .gz file: one pass, so that progress has an end. A last line without "\n" counts.
 * @throws DataError when the file cannot be read or its compression is damaged
 */
export async function countLines(path: string, signal?: AbortSignal): Promise<number> {
  const file = createReadStream(path, { highWaterMark: 2 ** 20 });
  const bytes = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  file.on("error", (error) => bytes.destroy(error));
  let lines = 0;
  let last = 10;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      signal?.throwIfAborted();
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
      last = chunk.at(-1) ?? last;
    }
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && !signal?.aborted)
      throw new DataError({ what: "cannot read the file", where: path, got: cause.message, cause });
    throw cause;
  } finally {
    file.destroy();
  }
  return last === 10 ? lines : lines + 1;
}
