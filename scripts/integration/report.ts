/** Collects what an integration run checked; each line is printed as it comes. */
export class Report {
  passed = 0;
  failed = 0;

  say(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  check(what: string, holds: boolean, evidence: string): void {
    if (holds) this.passed++;
    else this.failed++;
    this.say(`${holds ? "ok  " : "FAIL"}  ${what}: ${evidence}`);
  }
}
