import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, encode, type View } from "../../src/permalink.ts";

const VIEW: View = {
  ask: {
    model: "transducer",
    input: 'azbz\n{"input": "naïve – 漢字 🙂"}',
    rules: { from: "editor", toml: "pattern = '(aaa|zb)*'\n" },
    engine: "gbi",
    preset: null,
    numbers: { max_steps: 0, deadline_ms: 1000 },
  },
  answer: 2,
  step: 7,
  compared: true,
};

test("a link holds everything, in any script", () => {
  assert.deepEqual(decode(`#${encode(VIEW)}`), VIEW);
  assert.match(encode(VIEW), /^[A-Za-z0-9_-]+$/);
  for (const rules of [{ from: "model" }, { from: "file", name: "full" }] as const) {
    const view = { ...VIEW, ask: { ...VIEW.ask, rules } };
    assert.deepEqual(decode(encode(view)), view);
  }
});

test("an empty fragment is no view", () => {
  assert.equal(decode(""), null);
  assert.equal(decode("#"), null);
});

test("a link that was cut off says so", () => {
  const whole = encode(VIEW);
  for (let cut = 1; cut < whole.length; cut += 1)
    assert.throws(() => decode(whole.slice(0, cut)), /damaged/, `cut at ${cut}`);
});

test("fields of other types are left out", () => {
  const hostile = {
    v: 1,
    ask: { model: 7, input: ["x"], rules: { from: "file", name: {} }, maxSteps: -1, width: 1.5 },
    answer: "0",
    step: {},
  };
  const view = decode(btoa(JSON.stringify(hostile)));
  assert.deepEqual(view?.ask, {
    model: "",
    input: "",
    rules: { from: "model" },
    engine: null,
    preset: null,
    numbers: {},
  });
  assert.deepEqual([view?.answer, view?.step, view?.compared], [0, null, false]);
  assert.throws(() => decode(btoa("[]")), /damaged/);
  assert.throws(() => decode(btoa('{"v": 2}')), /another version/);
});
