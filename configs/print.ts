import { Document, isMap, isScalar, isSeq, type Node } from "yaml";
import { at, type Path, showOrigin, type Tree } from "./tree.ts";

/**
 * A resolved config as YAML that loads back to the same config. With `stated`, each value carries where it was
 * stated as a comment: `# my.yaml:12`, `# override`, `# default`.
 */
export function printConfig(config: unknown, stated?: Tree): string {
  const document = new Document(config);
  if (stated) annotate(document.contents as Node, stated, []);
  return document.toString({ lineWidth: 0 });
}

function annotate(node: Node | null, stated: Tree, path: Path): void {
  if (isMap(node) && node.items.length > 0) {
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? String(pair.key.value) : "";
      annotate(pair.value as Node | null, stated, [...path, key]);
    }
  } else if (isSeq(node) && node.items.length > 0) {
    const items = node.items as Node[];
    if (items.every(isScalar)) {
      node.flow = true;
      node.comment = ` ${originOf(stated, path)}`;
    } else for (const [i, item] of items.entries()) annotate(item, stated, [...path, i]);
  } else if (node) node.comment = ` ${originOf(stated, path)}`;
}

function originOf(stated: Tree, path: Path): string {
  const node = at(stated, path);
  if (!node) return "default";
  return node.origin.kind === "override" ? "override" : showOrigin(node.origin);
}
