import type { OwnPart } from "./scorer.ts";

/** For agents of the user's own: the reward that was posted, else whether the answer that came back is right. */
export const posted: OwnPart = ({ ending }, { exactMatch }) => ending?.agent?.reward ?? exactMatch;
