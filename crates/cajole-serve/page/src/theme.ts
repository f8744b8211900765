/** Light, dark, or as the system prefers. */

const KEY = "cajole-theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

/** Applies the theme that was chosen before, and lets `select` change it. */
export function theme(select: HTMLSelectElement): void {
  const kept = THEMES.find((one) => one === localStorage.getItem(KEY)) ?? "system";
  apply(kept);
  select.value = kept;
  select.addEventListener("change", () => {
    const chosen = THEMES.find((one) => one === select.value) ?? "system";
    localStorage.setItem(KEY, chosen);
    apply(chosen);
  });
}

function apply(chosen: Theme): void {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}
