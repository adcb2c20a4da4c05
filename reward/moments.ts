/** Running means and covariance of pairs (Welford's update): one pass, nothing kept. */
export class Moments {
  n = 0;
  meanX = 0;
  meanY = 0;
  #xx = 0;
  #yy = 0;
  #xy = 0;

  add(x: number, y: number): void {
    this.n++;
    const [dx, dy] = [x - this.meanX, y - this.meanY];
    this.meanX += dx / this.n;
    this.meanY += dy / this.n;
    this.#xx += dx * (x - this.meanX);
    this.#yy += dy * (y - this.meanY);
    this.#xy += dx * (y - this.meanY);
  }

  /** Pearson's r, in [−1, 1]; null where x or y does not vary. */
  get correlation(): number | null {
    const scale = Math.sqrt(this.#xx * this.#yy);
    return scale > 1e-15 ? Math.max(-1, Math.min(1, this.#xy / scale)) : null;
  }

  /** Least squares of y on x; null with fewer than three pairs, or where x does not vary. */
  get line(): Line | null {
    if (this.n < 3 || this.#xx <= 1e-15) return null;
    const slope = this.#xy / this.#xx;
    const residual = Math.max(0, this.#yy - slope * this.#xy);
    const error = Math.sqrt(residual / (this.n - 2) / this.#xx);
    const t = Math.abs(slope) <= 1e-12 ? 0 : slope / Math.max(error, 1e-12);
    return { slope, t, at: (x) => this.meanY + slope * (x - this.meanX) };
  }
}

/** A fitted line. */
export interface Line {
  readonly slope: number;
  /** Slope over its standard error; 0 where y does not move. */
  readonly t: number;
  at(x: number): number;
}
