import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, linesOf, type ServerEvent } from "../../src/stream.ts";

/** The bytes of a text in chunks of a size, so that characters and lines are cut anywhere. */
function chunked(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("lines do not depend on how they arrive", async () => {
  const text = 'naïve 漢\n\n{"a":1}\nlast';
  for (let size = 1; size < 40; size += 1) {
    assert.deepEqual(await all(linesOf(chunked(text, size))), ["naïve 漢", "", '{"a":1}', "last"]);
  }
});

test("events have names and data, comments are skipped, a cut event is dropped", async () => {
  const text = ": hello\n\nevent: step\ndata: {\ndata: }\n\ndata:x\nid: 1\n\nevent: record\ndata: cut";
  const expected: ServerEvent[] = [
    { event: "step", data: "{\n}" },
    { event: "message", data: "x" },
  ];
  for (let size = 1; size < 40; size += 1)
    assert.deepEqual(await all(eventsOf(chunked(text, size))), expected);
});
