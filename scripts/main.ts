#!/usr/bin/env -S node --max-semi-space-size=64
// Episodes under way outlive a small young generation: with 64 MB a half less goes to the garbage collector.
import { defineForager } from "./define.ts";

await defineForager({}).run(process.argv);
