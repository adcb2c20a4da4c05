import { DataError } from "../core/errors.ts";
import { readChunks } from "../core/jsonl.ts";

/**
 * The elements of one long JSON array, as texts, with one element in memory: HotpotQA's files are larger than a
 * JavaScript string may be. What follows the array's end is passed over.
 * @param start bytes before the array's "["
 * @throws DataError for a file that ends inside the array
 */
export async function* arrayElements(path: string, start = 0): AsyncGenerator<string> {
  let passed = 0;
  let depth = 0;
  let inText = false;
  let escaped = false;
  let parts: Buffer[] = [];
  const element = (): string | undefined => {
    const text = Buffer.concat(parts).toString("utf8").trim();
    parts = [];
    return text === "" ? undefined : text;
  };
  for await (const chunk of readChunks(path)) {
    let from = depth > 0 ? 0 : -1;
    for (let at = Math.max(0, start - passed); at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (inText) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inText = false;
      } else if (byte === quote) inText = true;
      else if (byte === openBracket || byte === openBrace) {
        depth++;
        if (depth === 1) from = at + 1;
      } else if (byte === closeBracket || byte === closeBrace) {
        depth--;
        if (depth > 0) continue;
        parts.push(chunk.subarray(from, at));
        const last = element();
        if (last !== undefined) yield last;
        return;
      } else if (byte === comma && depth === 1) {
        parts.push(chunk.subarray(from, at));
        from = at + 1;
        // An empty element is no JSON; as a text it fails where it is parsed, with its place.
        yield element() ?? "";
      }
    }
    if (from >= 0) parts.push(chunk.subarray(from));
    passed += chunk.length;
  }
  throw new DataError({
    what: "the file ends inside its JSON array",
    where: path,
    expected: "a closing `]`",
    next: "Is it whole? Copy or write it again.",
  });
}

const [quote, backslash, comma] = [34, 92, 44];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
