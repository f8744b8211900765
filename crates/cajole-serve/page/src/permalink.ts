/** Keeps what the page shows in the fragment of its address, which browsers never send to a server. */

import type { Ask, Numbers, RuleChoice } from "./ask.ts";
import { NUMBERS } from "./options.ts";

export interface View {
  ask: Ask;
  /** Which answer is shown. */
  answer: number;
  /** Which step of its trace. */
  step: number | null;
  /** Whether engines are compared. */
  compared: boolean;
}

const VERSION = 1;

/** The fragment for a view, without the `#`. */
export function encode(view: View): string {
  const { numbers, ...ask } = view.ask;
  const entries = NUMBERS.map(({ name }) => [camel(name), numbers[name] ?? null]);
  const whole = { v: VERSION, ...view, ask: { ...ask, ...Object.fromEntries(entries) } };
  const bytes = new TextEncoder().encode(JSON.stringify(whole));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The view in a fragment; `null` if it is empty, and an error if it is damaged. */
export function decode(fragment: string): View | null {
  const text = fragment.replace(/^#/, "");
  if (text === "") return null;
  let value: unknown;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("The link is damaged. Perhaps its end was cut off.");
  }
  if (!isObject(value)) throw new Error("The link is damaged: it holds no view.");
  if (value["v"] !== VERSION) throw new Error("The link was made by another version of this page.");
  return viewOf(value);
}

/** Takes only fields of the right type, because a link can hold anything. */
function viewOf(value: Fields): View {
  const ask = isObject(value["ask"]) ? value["ask"] : {};
  return {
    ask: {
      model: text(ask["model"]) ?? "",
      input: text(ask["input"]) ?? "",
      rules: ruleChoice(ask["rules"]),
      engine: text(ask["engine"]),
      preset: text(ask["preset"]),
      numbers: numbersOf(ask),
    },
    answer: whole(value["answer"]) ?? 0,
    step: whole(value["step"]),
    compared: value["compared"] === true,
  };
}

function numbersOf(ask: Fields): Numbers {
  const numbers: Numbers = {};
  for (const { name } of NUMBERS) {
    const number = whole(ask[camel(name)]);
    if (number !== null) numbers[name] = number;
  }
  return numbers;
}

/** `max_steps` as links have it: `maxSteps`. */
function camel(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function ruleChoice(value: unknown): RuleChoice {
  if (isObject(value)) {
    const [name, toml] = [text(value["name"]), text(value["toml"])];
    if (value["from"] === "file" && name !== null) return { from: "file", name };
    if (value["from"] === "editor" && toml !== null) return { from: "editor", toml };
  }
  return { from: "model" };
}

type Fields = { [field: string]: unknown };

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function whole(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
