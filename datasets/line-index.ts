import { DataError } from "../core/errors.ts";
import { seedOf } from "../core/rng.ts";

/**
 * Remembers on which line each id stood, in about 20 bytes an id (64-bit hashes in an open-addressing table):
 * a corpus of 21 million passages must not need its ids in memory. Two ids of one file share a hash by accident
 * about once in 80,000 corpora of that size.
 */
export class LineIndex {
  private size = 0;
  private slots = new Uint32Array(3 * 1024); // [capacity, (hash high, hash low, line)]; line 0 is an empty slot
  private readonly place: (line: number) => string;
  private readonly unit: string;

  /** @param unit what the file is counted in, and @param place how one of them is named in messages */
  constructor(path: string, unit = "line", place = (line: number) => `${path}:${line}`) {
    this.unit = unit;
    this.place = place;
  }

  /** @param line 1-based. @throws DataError naming both lines when the id was there before. */
  add(id: string, line: number): void {
    if (this.size * 3 > this.capacity * 2) this.grow();
    const earlier = this.put(seedOf(0, id), seedOf(1, id), line);
    if (earlier === 0) this.size++;
    else
      throw new DataError({
        what: "duplicate id",
        where: this.place(line),
        got: `"${id.length > 80 ? `${id.slice(0, 77)}...` : id}", which is on ${this.unit} ${earlier} too`,
        expected: `a different id on every ${this.unit}`,
        next: "Rename or remove one of the two.",
      });
  }

  private get capacity(): number {
    return this.slots.length / 3;
  }

  /** Line of the same id, or 0 after writing a new entry. */
  private put(high: number, low: number, line: number): number {
    for (let slot = low & (this.capacity - 1); ; slot = (slot + 1) & (this.capacity - 1)) {
      const at = slot * 3;
      const there = this.slots[at + 2] as number;
      if (there === 0) {
        this.slots[at] = high;
        this.slots[at + 1] = low;
        this.slots[at + 2] = line;
        return 0;
      }
      if (this.slots[at] === high && this.slots[at + 1] === low) return there;
    }
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 3)
      if (old[at + 2] !== 0) this.put(old[at] as number, old[at + 1] as number, old[at + 2] as number);
  }
}
