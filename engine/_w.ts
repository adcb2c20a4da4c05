import { openEngine } from "./open.ts";

console.time("w");
await openEngine({ backend: "webgpu" }).then(
  () => console.log("webgpu ok"),
  (e) => console.log(e.message),
);
console.timeEnd("w");
await openEngine({ backend: "cuda" }).catch((e) => console.log(e.message));
