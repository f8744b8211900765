/** A slider over the decodes of a trace, with buttons and a player. */

import { button, h } from "./element.ts";

export interface Scrubber {
  element: HTMLElement;
  moveTo(decode: number): void;
  stop(): void;
}

/** How long the player stays on a decode, in milliseconds; a long trace is played in about 12 s. */
function pace(n: number): number {
  return Math.min(700, Math.max(40, 12_000 / n));
}

export function scrubber(
  n: number,
  describe: (decode: number) => string,
  onMove: (decode: number) => void,
): Scrubber {
  let at = 0;
  let timer: number | null = null;
  const slider = h("input", { type: "range", id: "decode", min: 0, max: n - 1, step: 1, value: 0 });
  const where = h("output", { class: "where", for: "decode" });

  const show = (decode: number): void => {
    at = decode;
    slider.value = String(decode);
    slider.setAttribute("aria-valuetext", describe(decode));
    where.textContent = describe(decode);
    back.disabled = decode === 0;
    forward.disabled = decode === n - 1;
  };
  const go = (decode: number): void => {
    show(Math.min(n - 1, Math.max(0, decode)));
    onMove(at);
  };
  const stop = (): void => {
    if (timer !== null) window.clearInterval(timer);
    timer = null;
    play.textContent = "▶ Play";
    play.setAttribute("aria-pressed", "false");
  };
  const start = (): void => {
    if (at === n - 1) go(0);
    play.textContent = "⏸ Pause";
    play.setAttribute("aria-pressed", "true");
    timer = window.setInterval(() => {
      go(at + 1);
      if (at === n - 1) stop();
    }, pace(n));
  };
  const step = (by: number): void => {
    stop();
    go(at + by);
  };

  const play = button("▶ Play", () => (timer === null ? start() : stop()), {
    class: "play",
    "aria-pressed": "false",
  });
  const back = button("◀", () => step(-1), { "aria-label": "Previous decode", class: "icon" });
  const forward = button("▶", () => step(1), { "aria-label": "Next decode", class: "icon" });
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  const label = h("label", { for: "decode", class: "hidden" }, "Decode");
  const element = h("div", { class: "scrubber" }, play, back, label, slider, forward, where);
  return { element, moveTo: show, stop };
}
