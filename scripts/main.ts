#!/usr/bin/env node
import { defineForager } from "./define.ts";

await defineForager({}).run(process.argv);
