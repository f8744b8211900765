/** Widths of text, for drawings that lay out their own. */

export type Measure = (text: string) => number;

/** The font of drawings; `drawing.css` has the same. */
export const FONT =
  '14px system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif';

/** The symbols of sequences. */
export const MONO = '15px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** Measures with the browser's own fonts. */
export function measureIn(font: string): Measure {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return (text) => 8 * text.length;
  context.font = font;
  return (text) => context.measureText(text).width;
}
