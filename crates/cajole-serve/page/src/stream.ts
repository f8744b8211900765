/** Streams as they arrive: NDJSON lines and server-sent events. Chunks may end anywhere. */

export interface ServerEvent {
  event: string;
  data: string;
}

/** Lines of a body, without their ends. A last line without an end counts. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const lines = rest.split(/\r?\n/);
      rest = lines.pop() ?? "";
      yield* lines;
      if (done) break;
    }
    if (rest !== "") yield rest;
  } finally {
    await reader.cancel();
  }
}

/** Events of a body. An event that was cut off is dropped, as the standard demands. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  let event = "message";
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (data.length > 0) yield { event, data: data.join("\n") };
      [event, data] = ["message", []];
      continue;
    }
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
}
