import { isUtf8 } from "node:buffer";
import { DataError } from "./errors.ts";
import { readChunks } from "./jsonl.ts";

/** A table as RFC 4180 CSV; the first row is the head. Empty where a cell is undefined. */
export function csvTable(rows: readonly (readonly (string | number | undefined)[])[]): string {
  return rows.map((cells) => csvLine(cells.map(known))).join("");
}

/** One row with its line end. A lone empty cell is quoted, since a blank line is no row. */
function csvLine(cells: readonly (string | number | undefined)[]): string {
  const line = cells.map(csvField).join(",");
  return `${line === "" && cells.length === 1 ? '""' : line}\r\n`;
}

const known = (cell: string | number | undefined) =>
  typeof cell === "number" && !Number.isFinite(cell) ? undefined : cell;

/** Quoted where it must be; a text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvField(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export interface CsvRecord {
  readonly fields: readonly string[];
  /** Line on which it begins, 1-based; a line break inside quotes counts too. */
  readonly line: number;
}

/**
 * Reads separated values (RFC 4180; plain or .gz) with one record in memory at a time: fields in double quotes may hold
 * separators, line breaks and doubled quotes; lines end at CRLF, LF or CR; blank lines and a byte order mark are passed
 * over. A quote inside a field that does not begin with one stands for itself.
 * @throws DataError naming file:line for text after a closing quote, a quote that is never closed, or bytes that are no UTF-8
 */
export async function* readCsv(path: string, separator: "," | "\t"): AsyncGenerator<CsvRecord> {
  const decoder = new TextDecoder("utf-8", { fatal: true }); // it takes the byte order mark away
  const records = new Splitter(path, separator);
  const decode = (bytes?: Buffer) => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    } catch (cause) {
      throw new DataError({
        what: "bytes that are no UTF-8",
        where: `${path}:${records.line + (bytes ? linesBefore(bytes) : 0)}`,
        next: "Save the file as UTF-8.",
        cause,
      });
    }
  };
  for await (const chunk of readChunks(path)) yield* records.split(decode(chunk));
  yield* records.split(decode());
  yield* records.end();
}

/** Lines before the first that is no UTF-8. */
function linesBefore(bytes: Buffer): number {
  let [line, start] = [0, 0];
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    if (!isUtf8(bytes.subarray(start, end))) return line;
    line++;
    start = end + 1;
  }
  return line;
}

const [quote, carriageReturn, lineFeed] = [34, 13, 10];

/** Most characters of one field: a quote that is never closed must not swallow a file of any size. */
const longest = 1 << 26;

/** Splits text that comes in pieces, wherever they end. */
class Splitter {
  /** Of the next character. */
  line = 1;
  #fields: string[] = [];
  #field = "";
  #state: "start" | "bare" | "quoted" | "closed" = "start";
  /** Lines on which the record and the quoted field began. */
  #began = 1;
  #opened = 1;
  /** The character before was a CR: an LF belongs to it. */
  #returned = false;
  readonly #path: string;
  readonly #separator: number;

  constructor(path: string, separator: "," | "\t") {
    this.#path = path;
    this.#separator = separator.charCodeAt(0);
  }

  *split(text: string): Generator<CsvRecord> {
    let from = 0; // what is not in #field yet
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const second = code === lineFeed && this.#returned;
      this.#returned = code === carriageReturn;
      const breaks = (code === carriageReturn || code === lineFeed) && !second;
      if (this.#state === "quoted") {
        if (breaks) this.line++;
        if (code !== quote) continue;
        this.#add(text.slice(from, at));
        this.#state = "closed";
      } else if (second) {
        from = at + 1;
      } else if (breaks) {
        this.#add(text.slice(from, at));
        from = at + 1;
        yield* this.end();
        this.line++;
        this.#began = this.line;
      } else if (code === this.#separator) {
        this.#add(text.slice(from, at));
        from = at + 1;
        this.#next();
      } else if (code === quote && this.#state === "start") {
        this.#state = "quoted";
        this.#opened = this.line;
        from = at + 1;
      } else if (code === quote && this.#state === "closed") {
        this.#state = "quoted"; // two quotes are one: the text goes on from the second
        from = at;
      } else if (this.#state === "closed") {
        throw this.#wrong("text after a closing quote", this.line, {
          got: text.slice(at, at + 20).split(/[\r\n]/, 1)[0] as string,
          expected: 'a separator or the end of the line; a quote inside quotes is written twice, `""`',
        });
      } else this.#state = "bare";
    }
    if (this.#state === "bare" || this.#state === "quoted") this.#add(text.slice(from));
  }

  /** The record that the text ends with, if there is one. */
  *end(): Generator<CsvRecord> {
    if (this.#state === "quoted")
      throw this.#wrong("a quote that is never closed", this.#opened, {
        expected: 'a closing `"`; a field that begins with a quote of its own is written `"""…"`',
      });
    if (this.#fields.length === 0 && this.#state === "start") return;
    this.#next();
    const record = { fields: this.#fields, line: this.#began };
    this.#fields = [];
    yield record;
  }

  #next(): void {
    this.#fields.push(this.#field);
    this.#field = "";
    this.#state = "start";
  }

  /** Text of a field; between a closing quote and what follows there is none. */
  #add(text: string): void {
    if (this.#state === "closed") return;
    this.#field += text;
    if (this.#field.length > longest)
      throw this.#wrong("a field without end", this.#state === "quoted" ? this.#opened : this.line, {
        got: `more than ${longest} characters`,
      });
  }

  #wrong(what: string, line: number, facts: { got?: string; expected?: string }): DataError {
    return new DataError({
      what,
      where: `${this.#path}:${line}`,
      ...facts,
      next: "Mend this line, or leave it out.",
    });
  }
}
