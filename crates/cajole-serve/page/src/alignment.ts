/** Aligns two sequences of symbols: what both have, what only the first has, what only the second. */

export type Edit = "same" | "removed" | "added";

/** One column of an alignment; a gap is `null`. */
export interface Column {
  before: string | null;
  after: string | null;
}

/** The fewest insertions and deletions that turn `before` into `after`, as columns. */
export function align(before: string[], after: string[]): Column[] {
  const start = commonPrefix(before, after);
  const end = commonSuffix(before, after, start);
  const middle = alignMiddle(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  );
  const same = (symbol: string): Column => ({ before: symbol, after: symbol });
  const tail = end === 0 ? [] : before.slice(-end);
  return [...before.slice(0, start).map(same), ...middle, ...tail.map(same)];
}

/** Puts what was removed above what was added in its place, so that a replacement is one column. */
export function paired(columns: Column[]): Column[] {
  const made: Column[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = (): void => {
    for (let i = 0; i < Math.max(removed.length, added.length); i += 1) {
      made.push({ before: removed[i] ?? null, after: added[i] ?? null });
    }
    [removed, added] = [[], []];
  };
  for (const column of columns) {
    if (column.before !== null && column.after !== null) {
      flush();
      made.push(column);
    } else if (column.before !== null) removed.push(column.before);
    else if (column.after !== null) added.push(column.after);
  }
  flush();
  return made;
}

function commonPrefix(a: string[], b: string[]): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n += 1;
  return n;
}

function commonSuffix(a: string[], b: string[], from: number): number {
  let n = 0;
  while (n < a.length - from && n < b.length - from && a[a.length - 1 - n] === b[b.length - 1 - n]) n += 1;
  return n;
}

/** Longest common subsequence by dynamic programming over suffixes. */
function alignMiddle(a: string[], b: string[]): Column[] {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const columns: Column[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [before, after] = [a[i] ?? null, b[j] ?? null];
    if (before !== null && before === after) {
      columns.push({ before, after });
      [i, j] = [i + 1, j + 1];
    } else if (after === null || (before !== null && at(i + 1, j) >= at(i, j + 1))) {
      columns.push({ before, after: null });
      i += 1;
    } else {
      columns.push({ before: null, after });
      j += 1;
    }
  }
  return columns;
}
