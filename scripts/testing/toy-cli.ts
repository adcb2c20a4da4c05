import { setTimeout as sleep } from "node:timers/promises";
import { runCli } from "../cli.ts";
import { defineCommand } from "../command.ts";

/** A command line whose commands wait, ignore Ctrl-C, or talk: for cli.test.ts, which runs it as a process. */
const command = (run: Parameters<typeof defineCommand>[0]["run"]) => async () =>
  defineCommand({ positionals: "", examples: [["toy", ""]], builder: (yargs) => yargs, run });

const rows = [
  {
    name: "wait",
    describe: "until told to stop",
    load: command(async (_args, output, signal) => {
      output.line("waiting");
      while (!signal.aborted) await sleep(5);
      output.line("saved");
    }),
  },
  {
    name: "deaf",
    describe: "to the first Ctrl-C",
    load: command(async (_args, output) => {
      for (;;) {
        output.line("busy");
        await sleep(20);
      }
    }),
  },
  {
    name: "talk",
    describe: "until nobody listens",
    load: command(async (_args, output, signal) => {
      for (let i = 0; !signal.aborted; i++) {
        output.line(`line ${i}`);
        if (i % 100 === 0) await sleep(1);
      }
    }),
  },
];

process.exit(await runCli(process.argv.slice(2), {}, process, rows));
