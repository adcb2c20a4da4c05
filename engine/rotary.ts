import {
  add,
  concat,
  customGrad,
  engine,
  mul,
  neg,
  reshape,
  split,
  sub,
  type Tensor,
} from "@tensorflow/tfjs-core";
import { RECORDER } from "./backend.ts";

/**
 * Rotary positions (RoFormer, Su et al. 2021, with the halves of a head as pairs): x [B, T, heads·hd] with each pair
 * (i, i + hd/2) of every head turned by its position's angle. cos and sin are [T, hd/2], or [B·T, hd/2] where every
 * row stands elsewhere; they get no gradient. One kernel forwards, one backwards.
 */
export function rotateHeads(x: Tensor, heads: number, cos: Tensor, sin: Tensor): Tensor {
  return customGrad((...args) => {
    const [y, save] = args as unknown as [Tensor, (saved: Tensor[]) => void];
    save([cos, sin]);
    return {
      value: turn(y, heads, cos, sin),
      gradFunc: (dy, saved) => {
        const [c, s] = saved as [Tensor, Tensor];
        // Turning back is turning by the opposite angle.
        return turn(dy as Tensor, heads, c, neg(s));
      },
    };
  })(x);
}

function turn(x: Tensor, heads: number, cos: Tensor, sin: Tensor): Tensor {
  if (engine().backendName === RECORDER)
    return engine().runKernel("RotateHeads", { x, cos, sin } as never, { heads } as never) as Tensor;
  const [rows, length, width] = x.shape as [number, number, number];
  const each = (angles: Tensor) =>
    reshape(angles, [(angles.shape[0] as number) / length, length, 1, angles.shape[1] as number]);
  const [c, s] = [each(cos), each(sin)];
  const [a, b] = split(reshape(x, [rows, length, heads, width / heads]), 2, -1) as [Tensor, Tensor];
  const turned = [sub(mul(a, c), mul(b, s)), add(mul(b, c), mul(a, s))];
  return reshape(concat(turned, -1), x.shape);
}
