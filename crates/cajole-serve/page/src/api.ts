/** Calls the service that the page came from, and no other host. */

import { eventsOf, linesOf } from "./stream.ts";
import type {
  AskRequest,
  Comparison,
  FailedModel,
  LintResult,
  Model,
  Problem,
  RuleFile,
  Rules,
  StepEvent,
  WireRecord,
} from "./wire.ts";

/** A refusal, with the problem document that explains it. */
export class Refusal extends Error {
  constructor(
    readonly problem: Problem,
    /** After how many seconds the server wants to be asked again. */
    readonly retryAfter: number | null = null,
  ) {
    super(problem.detail || problem.title);
  }
}

const TOKEN_KEY = "cajole-token";

/** The bearer token, if the service asks for one; kept until the tab is closed. */
export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token);
}

export async function models(): Promise<(Model | FailedModel)[]> {
  const { models } = (await (await call("GET", "/v1/models")).json()) as { models: (Model | FailedModel)[] };
  return models;
}

export async function ruleFiles(): Promise<RuleFile[]> {
  const { rules } = (await (await call("GET", "/v1/rules")).json()) as { rules: RuleFile[] };
  return rules;
}

export async function lint(model: string, rules: Rules): Promise<LintResult> {
  return (await (await call("POST", "/v1/lint", { body: { model, rules } })).json()) as LintResult;
}

export async function infer(ask: AskRequest, signal: AbortSignal): Promise<WireRecord[]> {
  const answer = await call("POST", "/v1/infer", { body: ask, signal });
  return ((await answer.json()) as { records: WireRecord[] }).records;
}

export async function compare({ engine: _, ...ask }: AskRequest, signal: AbortSignal): Promise<Comparison> {
  return (await (await call("POST", "/v1/compare", { body: ask, signal })).json()) as Comparison;
}

/** Explains inputs. `onStep` sees every decode as it happens; the records come at the end. */
export async function explain(
  ask: AskRequest,
  signal: AbortSignal,
  onStep: (event: StepEvent) => void,
): Promise<WireRecord[]> {
  const answer = await call("POST", "/v1/explain", { body: ask, signal, accept: "text/event-stream" });
  const records: WireRecord[] = [];
  let isDone = false;
  for await (const { event, data } of eventsOf(bodyOf(answer))) {
    if (event === "step") onStep(JSON.parse(data) as StepEvent);
    else if (event === "record") records.push(JSON.parse(data) as WireRecord);
    else if (event === "problem") throw new Refusal(JSON.parse(data) as Problem);
    else if (event === "done") isDone = true;
  }
  if (!isDone) throw new Error("The connection ended before the answer did. Run it again.");
  return records.sort((a, b) => a.line - b.line);
}

/** Answers lines of NDJSON, in order, as they are done. */
export async function* inferLines(
  lines: string[],
  query: URLSearchParams,
  signal: AbortSignal,
): AsyncGenerator<WireRecord> {
  const type = "application/x-ndjson";
  const text = lines.join("\n") + "\n";
  const answer = await call("POST", `/v1/infer?${query}`, { text, type, accept: type, signal });
  for await (const line of linesOf(bodyOf(answer))) {
    if (line.trim() === "") continue;
    const record = JSON.parse(line) as WireRecord | { problem: Problem };
    if ("problem" in record) throw new Refusal(record.problem);
    yield record;
  }
}

interface Options {
  body?: unknown;
  text?: string;
  type?: string;
  accept?: string;
  signal?: AbortSignal;
}

async function call(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  const token = sessionStorage.getItem(TOKEN_KEY);
  if (token !== null) headers["Authorization"] = `Bearer ${token}`;
  const text = options.text ?? (options.body === undefined ? null : JSON.stringify(options.body));
  if (text !== null) headers["Content-Type"] = options.type ?? "application/json";
  const answer = await fetch(path, { method, headers, body: text, signal: options.signal ?? null }).catch(
    (error: unknown) => {
      if (error instanceof TypeError) throw new Error("The server cannot be reached. Is it still running?");
      throw error;
    },
  );
  if (!answer.ok) {
    const seconds = Number(answer.headers.get("Retry-After") ?? NaN);
    throw new Refusal(await problemOf(answer), Number.isFinite(seconds) ? seconds : null);
  }
  return answer;
}

async function problemOf(answer: Response): Promise<Problem> {
  const { status, statusText: title } = answer;
  const text = await answer.text();
  try {
    return { type: "about:blank", status, title, detail: text, ...(JSON.parse(text) as Partial<Problem>) };
  } catch {
    // A proxy in between answers with a page of its own.
    return { type: "about:blank", status, title, detail: `The server answered ${status} ${title}.` };
  }
}

function bodyOf(answer: Response): ReadableStream<Uint8Array> {
  if (answer.body === null) throw new Error("The answer has no body. Run it again.");
  return answer.body;
}
