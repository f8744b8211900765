/** Numbers as the reports print them. */

/** With so many decimals and a real minus sign; a dash if it was not measured. */
export function fixed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** A whole number with thin spaces between thousands. */
export function count(value: number): string {
  return String(Math.round(value))
    .replace(/\B(?=(\d{3})+$)/g, "\u202f")
    .replace("-", "−");
}

/** `1 step`, `2 steps`. */
export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A time with a unit that suits it. */
export function time(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return "–";
  if (milliseconds < 10) return `${fixed(milliseconds, 1)} ms`;
  if (milliseconds < 1000) return `${fixed(milliseconds, 0)} ms`;
  return `${fixed(milliseconds / 1000, 1)} s`;
}

/** About `most` round values that enclose the range. */
export function ticks(low: number, high: number, most: number): number[] {
  const span = high - low;
  if (!Number.isFinite(span)) return [0, 1];
  if (span === 0) return ticks(low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2, most);
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** A tick with as many decimals as its step needs. */
export function tickLabel(value: number, step: number): string {
  return fixed(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}
