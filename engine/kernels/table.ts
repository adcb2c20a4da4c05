import { creators } from "./create.ts";
import { elementwise } from "./elementwise.ts";
import { gathers } from "./gather.ts";
import type { KernelTable } from "./kernel.ts";
import { products } from "./matmul.ts";
import { reductions } from "./reduce.ts";
import { rotations } from "./rotary.ts";
import { shapes } from "./shape.ts";

/** Every tfjs kernel that can be recorded, by the name tfjs gives it. */
export const kernels: KernelTable = {
  ...elementwise,
  ...reductions,
  ...shapes,
  ...products,
  ...gathers,
  ...creators,
  ...rotations,
};
