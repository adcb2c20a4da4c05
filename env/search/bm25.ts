/** Lucene's and LanceDB's parameters (LanceDB's are fixed). */
export const k1 = 1.2;
export const b = 0.75;

/** Impacts are whole multiples of this, so that a sum is exact whatever its order and equal scores are equal. */
export const resolution = 2 ** -20;

/** ln(1 + (N − df + ½) / (df + ½)): Lucene's form, never negative. */
export function idf(documents: number, documentFrequency: number): number {
  return Math.log(1 + (documents - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

/**
 * What a term adds to a document's score (Robertson and Zaragoza 2009, eq. 3.15).
 * @param frequency of the term in the document
 * @param length of the document in terms, `meanLength` of all documents
 */
export function impact(weight: number, frequency: number, length: number, meanLength: number): number {
  return (weight * frequency * (k1 + 1)) / (frequency + k1 * (1 - b + (b * length) / meanLength));
}

export interface Scored {
  /** Number of the document in the order given to `Bm25Index`. */
  readonly document: number;
  readonly score: number;
}

/** Exact BM25 in memory. Postings of term t: documents[start[t] .. start[t+1]), ascending. */
export class Bm25Index {
  readonly #terms = new Map<string, number>();
  readonly #start: Uint32Array; // [terms + 1]
  readonly #documents: Uint32Array; // [postings]
  readonly #impacts: Uint32Array; // [postings], in units of `resolution`
  readonly #best: Uint32Array; // [terms], the largest impact of each term
  readonly #sums: Float64Array; // [documents], zero between queries
  readonly #touched: Uint32Array; // [documents], scratch

  readonly #common: number; // terms in more documents than this are passed over

  /**
   * @param texts the terms of each document; equal scores are ordered as the documents are here
   * @param maxDocumentShare terms in a larger share of the documents are passed over, unless a query has no others
   */
  constructor(texts: Iterable<readonly string[]>, maxDocumentShare = 1) {
    const { terms, frequency, rows, lengths } = count(texts, this.#terms);
    const size = lengths.length;
    this.#common = maxDocumentShare * size;
    this.#start = new Uint32Array(this.#terms.size + 1);
    for (const term of terms) (this.#start[term + 1] as number)++;
    for (let term = 0; term < this.#terms.size; term++)
      (this.#start[term + 1] as number) += this.#start[term] as number;
    this.#documents = new Uint32Array(terms.length);
    this.#impacts = new Uint32Array(terms.length);
    this.#best = new Uint32Array(this.#terms.size);
    this.#sums = new Float64Array(size);
    this.#touched = new Uint32Array(size);
    const meanLength = lengths.reduce((sum, length) => sum + length, 0) / size;
    const next = this.#start.slice();
    for (let row = 0; row < terms.length; row++) {
      const term = terms[row] as number;
      const document = rows[row] as number;
      const df = (this.#start[term + 1] as number) - (this.#start[term] as number);
      const exact = impact(idf(size, df), frequency[row] as number, lengths[document] as number, meanLength);
      const units = Math.max(1, Math.round(exact / resolution));
      const at = (next[term] as number)++;
      this.#documents[at] = document;
      this.#impacts[at] = units;
      if (units > (this.#best[term] as number)) this.#best[term] = units;
    }
  }

  /** The best k documents that hold at least one of the distinct terms; ties in the documents' own order. */
  search(query: readonly string[], k: number): Scored[] {
    const known = query.flatMap((term) => this.#terms.get(term) ?? []);
    const telling = known.filter((term) => this.#frequency(term) <= this.#common);
    const terms = (telling.length > 0 ? telling : known).sort(
      (x, y) => this.#frequency(x) - this.#frequency(y),
    );
    const sums = this.#sums;
    const touched = this.#touched;
    let count = 0;
    let rest = terms.reduce((sum, term) => sum + (this.#best[term] as number), 0);
    let closed = false;
    for (const term of terms) {
      // MaxScore: once k documents beat all that the remaining terms can give, only those seen can still win.
      if (!closed && count >= k && this.#frequency(term) > 16 * count)
        closed = this.#select(count, k).at(-1)!.score / resolution > rest;
      if (closed) for (let i = 0; i < count; i++) this.#addTo(touched[i] as number, term);
      else
        for (let at = this.#start[term] as number; at < (this.#start[term + 1] as number); at++) {
          const document = this.#documents[at] as number;
          if (sums[document] === 0) touched[count++] = document;
          (sums[document] as number) += this.#impacts[at] as number;
        }
      rest -= this.#best[term] as number;
    }
    const top = this.#select(count, k);
    for (let i = 0; i < count; i++) sums[touched[i] as number] = 0;
    return top;
  }

  #frequency(term: number): number {
    return (this.#start[term + 1] as number) - (this.#start[term] as number);
  }

  /** Adds the term's impact on one document, found by bisection. */
  #addTo(document: number, term: number): void {
    let low = this.#start[term] as number;
    const end = this.#start[term + 1] as number;
    for (let high = end; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#documents[middle] as number) < document) low = middle + 1;
      else high = middle;
    }
    if (low < end && this.#documents[low] === document)
      (this.#sums[document] as number) += this.#impacts[low] as number;
  }

  /** The best k of the documents touched, by insertion: k is small, and few documents beat the k-th. */
  #select(count: number, k: number): Scored[] {
    const top: { document: number; score: number }[] = [];
    for (let i = 0; i < count; i++) {
      const document = this.#touched[i] as number;
      const score = (this.#sums[document] as number) * resolution;
      const last = top.at(-1);
      if (top.length === k && last !== undefined && !before(score, document, last)) continue;
      if (top.length === k) top.pop();
      let place = top.length;
      while (place > 0 && before(score, document, top[place - 1] as Scored)) place--;
      top.splice(place, 0, { document, score });
    }
    return top;
  }
}

const before = (score: number, document: number, other: Scored): boolean =>
  score > other.score || (score === other.score && document < other.document);

/** One row per distinct term of each document: its number, how often, and the document. */
function count(texts: Iterable<readonly string[]>, numbers: Map<string, number>) {
  const terms: number[] = [];
  const frequency: number[] = [];
  const rows: number[] = [];
  const lengths: number[] = [];
  for (const text of texts) {
    const place = new Map<number, number>();
    for (const term of text) {
      const number = numbers.get(term) ?? numbers.size;
      numbers.set(term, number);
      const at = place.get(number);
      if (at !== undefined) {
        (frequency[at] as number)++;
        continue;
      }
      place.set(number, terms.length);
      terms.push(number);
      frequency.push(1);
      rows.push(lengths.length);
    }
    lengths.push(text.length);
  }
  return { terms, frequency, rows, lengths };
}
