import { createHash, type Hash } from "node:crypto";
import type { Passage } from "../../datasets/task.ts";

/** SHA-256 over passages, fed one at a time: the same for plain, compressed and Search-R1's form of a corpus. */
export class Fingerprint {
  readonly #hash: Hash = createHash("sha256");

  add({ id, title, text }: Passage): void {
    this.#hash.update(`${JSON.stringify([id, title, text])}\n`);
  }

  /** 64 hexadecimal digits. Call once. */
  digest(): string {
    return this.#hash.digest("hex");
  }
}
