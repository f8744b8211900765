/** Constituency trees in Penn brackets: `(S (NP (XX She)) (VP (XX left)))`. */

export interface Tree {
  label: string;
  /** Children, for a phrase. */
  children: Tree[];
  /** The word, for a leaf. */
  word: string | null;
  /** The words it covers, half-open. */
  start: number;
  end: number;
}

/** The tag that the parser writes where parts of speech are unknown; drawings leave it out. */
export const UNKNOWN_TAG = "XX";

/** Reads one tree; `null` if the text is not one. */
export function parseTree(text: string): Tree | null {
  const tokens = text.match(/[()]|[^\s()]+/g) ?? [];
  const root: Tree = phrase("", 0);
  const open: Tree[] = [root];
  let words = 0;
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i] ?? "";
    const parent = open.at(-1);
    if (parent === undefined) return null;
    if (token === "(") {
      const next = tokens[i + 1] ?? "";
      const hasLabel = next !== "(" && next !== ")";
      const child = phrase(hasLabel ? next : "", words);
      if (hasLabel) i += 1;
      parent.children.push(child);
      open.push(child);
    } else if (token === ")") {
      parent.end = words;
      open.pop();
      if (open.length === 0) return null;
    } else {
      if (parent === root || parent.word !== null || parent.children.length > 0) return null;
      parent.word = token;
      words += 1;
    }
  }
  const [only] = root.children;
  if (open.length !== 1 || root.children.length !== 1 || only === undefined) return null;
  return only;
}

/** A phrase as scorers compare it. */
export function bracket(tree: Tree): string {
  return `${tree.label} ${tree.start} ${tree.end}`;
}

/** All phrases, parents first. Leaves are not phrases. */
export function phrases(tree: Tree): Tree[] {
  return tree.word !== null ? [] : [tree, ...tree.children.flatMap(phrases)];
}

/** The words with their tags. */
export function leaves(tree: Tree): Tree[] {
  return tree.word !== null ? [tree] : tree.children.flatMap(leaves);
}

/** The phrases of `tree` that `other` lacks. One that occurs twice has to occur twice there. */
export function lacking(tree: Tree, other: Tree): Set<Tree> {
  const counts = new Map<string, number>();
  for (const one of phrases(other)) counts.set(bracket(one), (counts.get(bracket(one)) ?? 0) + 1);
  const missing = new Set<Tree>();
  for (const one of phrases(tree)) {
    const left = counts.get(bracket(one)) ?? 0;
    if (left === 0) missing.add(one);
    else counts.set(bracket(one), left - 1);
  }
  return missing;
}

function phrase(label: string, start: number): Tree {
  return { label, children: [], word: null, start, end: start };
}
