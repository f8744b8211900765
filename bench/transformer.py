"""Two transformers, one iteration of gains and biases, beside PyTorch on one core: an encoder of 6 x 384
that tags 25 pieces, and an encoder-decoder of 3+3 x 256 that reads 25 symbols and writes 80.

PyTorch's variants are Hugging Face's own modules, the same written lean with fused attention, and the
latter compiled. In all of them only what moves requires gradients, decoding runs over cached keys and
values without a graph, and one pass over all positions is differentiated. The first pass alone, without a
gradient, is also timed in ONNX Runtime, from the lean modules, and the tagger's in candle.
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnxruntime
import torch
import torch.nn.functional as F
import transformers as hf

from side_by_side import ROUNDS, fail, leave_speedup, print_table, run_json

READ, WRITTEN, CASES = 25, 80, 32
TAGS, SYMBOLS = 9, 1000
TOLERANCE = 1e-3


def folders(out):
    """Random networks and inputs."""
    torch.manual_seed(1)
    labels = ["O"] + [f"{tag}-{i}" for i in range(TAGS // 2) for tag in "BI"]
    config = hf.BertConfig(
        vocab_size=SYMBOLS, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=1536, id2label=dict(enumerate(labels)), initializer_range=0.06,
    )  # fmt: skip
    tagger = hf.BertForTokenClassification(config).eval()
    config = hf.BartConfig(
        vocab_size=SYMBOLS, d_model=256, encoder_layers=3, decoder_layers=3, encoder_ffn_dim=1024,
        decoder_ffn_dim=1024, encoder_attention_heads=8, decoder_attention_heads=8, init_std=0.06,
        max_position_embeddings=128, forced_eos_token_id=None,
    )  # fmt: skip
    writer = hf.BartForConditionalGeneration(config).eval()
    with torch.no_grad():
        for model in (tagger, writer):
            for p in model.parameters():
                if p.dim() == 1:
                    p.add_(torch.randn_like(p) * 0.1)
        writer.final_logits_bias[0, config.eos_token_id] = -100
    draw = lambda: torch.randint(5, SYMBOLS, (CASES, READ)).tolist()
    cases = dict(tagger=draw(), writer=draw(), cap=WRITTEN)
    for name, model in (("tagger", tagger), ("writer", writer)):
        model.save_pretrained(out / name)
    (out / "cases.json").write_text(json.dumps(cases))
    return tagger, writer, cases


class Variant:
    """One way to do an iteration; `vectors` are the tensors that move."""

    def __init__(self, label, vectors, is_compiled=False):
        self.label, self.is_compiled, self.vectors = label, is_compiled, vectors
        self.start = [v.detach().clone() for v in vectors]

    def score(self, x):
        """The output and log p of it, differentiable."""
        raise NotImplementedError

    def iterate(self, x, step_size):
        output, score = self.score(x)
        gradients = torch.autograd.grad(score, self.vectors)
        norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
        with torch.no_grad():
            torch._foreach_add_(self.vectors, gradients, alpha=-step_size / norm)
        return output, score.item(), norm

    def restore(self):
        with torch.no_grad():
            torch._foreach_copy_(self.vectors, self.start)


def vectors_of(model):
    for p in model.parameters():
        p.requires_grad_(p.dim() == 1)
    return [p for p in model.parameters() if p.dim() == 1]


class HuggingFaceTagger(Variant):
    def __init__(self, model):
        super().__init__("Hugging Face", vectors_of(model))
        self.model = model

    def score(self, x):
        log_probs = self.model(input_ids=torch.tensor([x])).logits[0].log_softmax(-1)
        best = log_probs.max(-1)
        return best.indices.tolist(), best.values.sum()


class HuggingFaceWriter(Variant):
    def __init__(self, model):
        model.final_logits_bias.requires_grad_()
        super().__init__("Hugging Face", [*vectors_of(model), model.final_logits_bias])
        self.model, self.first = model, model.config.decoder_start_token_id

    def score(self, x):
        ids = torch.tensor([x])
        with torch.no_grad():
            y = self.model.generate(input_ids=ids, max_new_tokens=WRITTEN, do_sample=False, num_beams=1)
        y = y[:, 1:]
        before = torch.cat([torch.full((1, 1), self.first), y[:, :-1]], 1)
        logits = self.model(input_ids=ids, decoder_input_ids=before).logits[0]
        return y[0].tolist(), logits.log_softmax(-1).gather(1, y.T).sum()


class Layer:
    """The weights of a layer by short names, queries, keys and values joined."""

    def __init__(self, get, own, norm, up, down, last, cross=None, cross_norm=None):
        qkv = [f"{own[0]}.{part}" for part in own[1]]
        self.qkv = [torch.cat([get(f"{name}.{kind}") for name in qkv]) for kind in ("weight", "bias")]
        pair = lambda name: [get(f"{name}.weight"), get(f"{name}.bias")]
        self.out, self.norm = pair(own[2]), pair(norm)
        self.up, self.down, self.last = pair(up), pair(down), pair(last)
        self.cross = None
        if cross:
            names = [f"{cross}.{part}_proj" for part in "kv"]
            self.kv = [torch.cat([get(f"{name}.{kind}") for name in names]) for kind in ("weight", "bias")]
            self.cross, self.cross_out = pair(f"{cross}.q_proj"), pair(f"{cross}.out_proj")
            self.cross_norm = pair(cross_norm)

    def tensors(self):
        return [t for value in vars(self).values() if value for t in value]


def moving(tensors):
    """Leaves of these tensors; vectors require gradients."""
    vectors = [t for t in tensors if t.dim() == 1]
    for t in vectors:
        t.requires_grad_()
    return vectors


def heads(x, n):
    return x.unflatten(-1, (n, -1)).transpose(-3, -2)


def joined(x):
    return x.transpose(-3, -2).flatten(-2)


def attention(q, k, v, **how):
    """For a batch of one, which ONNX insists on."""
    return F.scaled_dot_product_attention(q[None], k[None], v[None], **how)[0]


def feed(x, layer, epsilon):
    z = F.linear(F.gelu(F.linear(x, *layer.up)), *layer.down)
    return F.layer_norm(x + z, x.shape[-1:], *layer.last, epsilon)


def encode(x, layers, n, epsilon):
    width = x.shape[-1:]
    for layer in layers:
        q, k, v = (heads(part, n) for part in F.linear(x, *layer.qkv).chunk(3, -1))
        seen = joined(attention(q, k, v))
        x = F.layer_norm(x + F.linear(seen, *layer.out), width, *layer.norm, epsilon)
        x = feed(x, layer, epsilon)
    return x


class LeanTagger(Variant):
    def __init__(self, model, is_compiled=False):
        get = lambda name: model.state_dict()[name].clone()
        self.tables = [get(f"bert.embeddings.{t}_embeddings.weight") for t in ("word", "position", "token_type")]
        pair = lambda name: [get(f"{name}.weight"), get(f"{name}.bias")]
        self.norm, self.top = pair("bert.embeddings.LayerNorm"), pair("classifier")
        self.layers = []
        for i in range(model.config.num_hidden_layers):
            at = f"bert.encoder.layer.{i}"
            own = (f"{at}.attention.self", ("query", "key", "value"), f"{at}.attention.output.dense")
            self.layers.append(Layer(get, own, f"{at}.attention.output.LayerNorm",
                                     f"{at}.intermediate.dense", f"{at}.output.dense", f"{at}.output.LayerNorm"))  # fmt: skip
        tensors = [*self.norm, *self.top, *(t for layer in self.layers for t in layer.tensors())]
        super().__init__("lean, compiled" if is_compiled else "lean", moving(tensors), is_compiled)
        self.n, self.epsilon = model.config.num_attention_heads, model.config.layer_norm_eps
        self.run = torch.compile(self.forward) if is_compiled else self.forward

    def forward(self, ids):
        words, positions, types = self.tables
        x = words[ids] + positions[: len(ids)] + types[0]
        x = F.layer_norm(x, x.shape[-1:], *self.norm, self.epsilon)
        x = encode(x, self.layers, self.n, self.epsilon)
        return F.linear(x, *self.top).log_softmax(-1)

    def score(self, x):
        best = self.run(torch.tensor(x)).max(-1)
        return best.indices.tolist(), best.values.sum()


class LeanWriter(Variant):
    def __init__(self, model, is_compiled=False):
        get = lambda name: model.state_dict()[f"model.{name}"].clone()
        pair = lambda name: [get(f"{name}.weight"), get(f"{name}.bias")]
        self.words, self.bias = get("shared.weight"), model.final_logits_bias[0].detach().clone()
        self.positions = [get(f"{part}.embed_positions.weight")[2:] for part in ("encoder", "decoder")]
        self.norms = [pair(f"{part}.layernorm_embedding") for part in ("encoder", "decoder")]
        stack = lambda part, n: [self.layer(get, f"{part}.layers.{i}", part == "decoder") for i in range(n)]
        self.encoder = stack("encoder", model.config.encoder_layers)
        self.decoder = stack("decoder", model.config.decoder_layers)
        tensors = [self.bias, *self.norms[0], *self.norms[1]]
        tensors += [t for layer in self.encoder + self.decoder for t in layer.tensors()]
        super().__init__("lean, compiled" if is_compiled else "lean", moving(tensors), is_compiled)
        self.n, self.first = model.config.encoder_attention_heads, model.config.decoder_start_token_id
        wrap = torch.compile if is_compiled else lambda f: f
        self.read_, self.force_, self.step_ = wrap(self.read), wrap(self.force), wrap(self.step)
        width = model.config.d_model
        cache = lambda: torch.zeros(self.n, WRITTEN, width // self.n)
        self.cache = [(cache(), cache()) for _ in self.decoder]
        self.masks = torch.ones(WRITTEN, WRITTEN).tril().bool()

    @staticmethod
    def layer(get, at, is_decoder):
        own = (f"{at}.self_attn", ("q_proj", "k_proj", "v_proj"), f"{at}.self_attn.out_proj")
        cross = (f"{at}.encoder_attn", f"{at}.encoder_attn_layer_norm") if is_decoder else ()
        return Layer(get, own, f"{at}.self_attn_layer_norm", f"{at}.fc1", f"{at}.fc2",
                     f"{at}.final_layer_norm", *cross)  # fmt: skip

    def embed(self, ids, which, positions):
        x = self.words[ids] + positions
        return F.layer_norm(x, x.shape[-1:], *self.norms[which])

    def read(self, ids):
        x = encode(self.embed(ids, 0, self.positions[0][: len(ids)]), self.encoder, self.n, 1e-5)
        return [[heads(part, self.n) for part in F.linear(x, *layer.kv).chunk(2, -1)] for layer in self.decoder]

    def decode(self, x, memory, attend):
        for i, layer in enumerate(self.decoder):
            q, k, v = (heads(part, self.n) for part in F.linear(x, *layer.qkv).chunk(3, -1))
            seen = joined(attend(i, q, k, v))
            x = F.layer_norm(x + F.linear(seen, *layer.out), x.shape[-1:], *layer.norm)
            seen = joined(attention(heads(F.linear(x, *layer.cross), self.n), *memory[i]))
            x = F.layer_norm(x + F.linear(seen, *layer.cross_out), x.shape[-1:], *layer.cross_norm)
            x = feed(x, layer, 1e-5)
        return F.linear(x, self.words, self.bias)

    def force(self, before, memory):
        x = self.embed(before, 1, self.positions[1][: len(before)])
        attend = lambda i, q, k, v: attention(q, k, v, is_causal=True)
        return self.decode(x, memory, attend).log_softmax(-1)

    def step(self, symbol, position, mask, memory, at):
        def attend(i, q, k, v):
            keys, values = self.cache[i]
            keys.index_copy_(1, at, k)
            values.index_copy_(1, at, v)
            return attention(q, keys, values, attn_mask=mask)

        return self.decode(self.embed(symbol, 1, position), memory, attend).argmax(-1)

    def eager_step(self, symbol, t, memory):
        def attend(i, q, k, v):
            keys, values = self.cache[i]
            keys[:, t], values[:, t] = k[:, 0], v[:, 0]
            return attention(q, keys[:, : t + 1], values[:, : t + 1])

        return self.decode(self.embed(symbol, 1, self.positions[1][t : t + 1]), memory, attend).argmax(-1)

    def score(self, x):
        memory = self.read_(torch.tensor(x))
        symbol, y = torch.tensor([self.first]), []
        with torch.no_grad():
            for t in range(WRITTEN):
                if self.is_compiled:
                    at, position = torch.tensor([t]), self.positions[1][t : t + 1]
                    symbol = self.step_(symbol, position, self.masks[t : t + 1], memory, at)
                else:
                    symbol = self.eager_step(symbol, t, memory)
                y.append(symbol)
        y = torch.cat(y)
        before = torch.cat([torch.tensor([self.first]), y[:-1]])
        return y.tolist(), self.force_(before, memory).gather(1, y.unsqueeze(1)).sum()


class Exported:
    """A function of tensors in ONNX Runtime, on one thread."""

    def __init__(self, function, example, path, dynamic=None):
        class Module(torch.nn.Module):
            def forward(self, *inputs):
                return function(*inputs)

        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's own
            torch.onnx.export(
                Module().eval(), example, str(path), dynamo=True, verbose=False, external_data=False,
                dynamic_shapes=dynamic and (dynamic,),
            )  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [i.name for i in self.session.get_inputs()]

    def __call__(self, *inputs):
        return self.session.run(None, dict(zip(self.names, inputs)))


class OnnxTagger:
    def __init__(self, lean, folder):
        self.run = Exported(lean.forward, (torch.tensor([7] * READ),), folder / "tagger.onnx")

    def first_pass(self, x):
        return self.run(np.array(x))[0].argmax(-1).tolist()


class OnnxWriter:
    """Reads once, then takes step after step over the keys and values so far."""

    def __init__(self, lean, folder):
        self.first, layers = lean.first, len(lean.decoder)
        read = lambda ids: torch.stack([torch.stack(pair) for pair in lean.read(ids)])

        def step(symbol, position, memory, past):
            now = []

            def attend(i, q, k, v):
                keys, values = torch.cat([past[i, 0], k], 1), torch.cat([past[i, 1], v], 1)
                now.append(torch.stack([keys, values]))
                return attention(q, keys, values)

            x = lean.embed(symbol, 1, position)
            return lean.decode(x, memory, attend).argmax(-1), torch.stack(now)

        self.read = Exported(read, (torch.tensor([7] * READ),), folder / "read.onnx")
        self.empty = np.zeros((layers, 2, lean.n, 0, lean.cache[0][0].shape[-1]), np.float32)
        self.positions = lean.positions[1].numpy()
        past = torch.zeros(layers, 2, lean.n, 3, self.empty.shape[-1])
        example = (torch.tensor([7]), lean.positions[1][:1], read(torch.tensor([7] * READ)), past)
        dynamic = (None, None, None, {3: torch.export.Dim("past")})
        self.step = Exported(step, example, folder / "step.onnx", dynamic)

    def first_pass(self, x):
        (memory,) = self.read(np.array(x))
        symbol, past, y = np.array([self.first]), self.empty, []
        for t in range(WRITTEN):
            symbol, past = self.step(symbol, self.positions[t : t + 1], memory, past)
            y.append(int(symbol[0]))
        return y


class Candle:
    """candle has BERT but not BART."""

    def __init__(self, folder):
        target = folder / "candle"
        manifest = Path(__file__).parent / "candle" / "Cargo.toml"
        build = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(manifest)]
        subprocess.run([*build, "--target-dir", str(target)], check=True)
        self.command = ["env", "RAYON_NUM_THREADS=1", str(target / "release" / "cajole-bench-candle"), str(folder)]

    def run(self):
        return run_json(self.command)


def first_passes(onnx, xs):
    """Milliseconds of a first pass."""
    onnx.first_pass(xs[0])
    start = perf_counter()
    for x in xs:
        onnx.first_pass(x)
    return 1e3 * (perf_counter() - start) / len(xs)


def check(variant, cases, wanted, step_size):
    """Outputs, log p and the gradient's norm before a step, outputs and log p after it."""
    for x, want in zip(cases, wanted["cases"]):
        got = variant.iterate(x, step_size)
        after = variant.iterate(x, step_size)
        variant.restore()
        for (output, log_prob), ours in ((got[:2], want), (after[:2], want["after"])):
            if output != ours["output"]:
                fail(f"{variant.label} decodes {output}, cajole {ours['output']}")
            if not abs(log_prob - ours["log_prob"]) < TOLERANCE * max(1, abs(log_prob)):
                fail(f"{variant.label}: log p {log_prob}, cajole {ours['log_prob']}")
        if not abs(got[2] - want["norm"]) < TOLERANCE * got[2]:
            fail(f"{variant.label}: a gradient of {got[2]}, cajole's {want['norm']}")
    print(f"  {variant.label}: same outputs, log p and gradients, before and after a step")


def seconds(variant, x, step_size):
    variant.iterate(x, step_size)
    start = perf_counter()
    variant.iterate(x, step_size)
    taken = perf_counter() - start
    variant.restore()
    return taken


def variants_of(model, kinds):
    plain, lean = kinds
    made = [plain(model), lean(model)]
    try:
        compiled = lean(model, is_compiled=True)
        start = perf_counter()
        compiled.score([7] * READ)
        print(f"  compiled in {perf_counter() - start:.0f} s")
        made.append(compiled)
    except Exception as problem:  # whatever is missing: a C++ compiler, Python's headers
        print(f"  does not compile here: {str(problem).splitlines()[0]}")
    return made


def main():
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    binary, folder = sys.argv[1], Path(sys.argv[2])
    command = lambda verb: [binary, "transformer", verb, "--dir", str(folder)]
    tagger, writer, cases = folders(folder)
    exported = run_json(command("prepare"))
    work = {}
    for name, model, kinds in (
        ("tagger", tagger, (HuggingFaceTagger, LeanTagger)),
        ("writer", writer, (HuggingFaceWriter, LeanWriter)),
    ):
        print(f"{name}: medians of {ROUNDS} interleaved rounds, one thread")
        work[name] = variants_of(model, kinds)
        for variant in work[name]:
            check(variant, cases[name], dict(cases=exported[name]), exported["step_size"])
    onnx: dict[str, OnnxTagger | OnnxWriter] = dict(tagger=OnnxTagger(work["tagger"][1], folder), writer=OnnxWriter(work["writer"][1], folder))
    for name, run in onnx.items():
        for x, want in zip(cases[name], exported[name]):
            if run.first_pass(x) != want["output"]:
                fail(f"ONNX Runtime decodes {run.first_pass(x)}, cajole {want['output']}")
        print(f"ONNX Runtime, {name}: same outputs")
    candle = Candle(folder)
    if candle.run()["outputs"] != [want["output"] for want in exported["tagger"]]:
        fail("candle decodes other outputs")
    print("candle, tagger: same outputs")
    ours, theirs, firsts = [], {}, {}
    first = lambda name, label, ms: firsts.setdefault(name, {}).setdefault(label, []).append(ms)
    for _ in range(ROUNDS):
        ours.append(run_json(command("time")))
        for name, run in onnx.items():
            first(name, "cajole", ours[-1][name]["parts_ms"]["decode"])
            first(name, "ONNX Runtime", first_passes(run, cases[name][:4]))
        first("tagger", "candle", candle.run()["ms"])
        for name, variants in work.items():
            for variant in variants:
                taken = [seconds(variant, x, exported["step_size"]) for x in cases[name][:4]]
                theirs.setdefault((name, variant.label), []).append(1e3 * sum(taken) / len(taken))
    speedups = []
    for name, variants in work.items():
        alone = [round_[name]["alone_ms"] for round_ in ours]
        in_step = [round_[name]["in_step_ms"] for round_ in ours]
        rows = [("cajole", alone), (f"cajole, {CASES} in step", in_step)]
        rows += [(v.label, theirs[name, v.label]) for v in variants]
        print_table(f"{name}, ms/iteration", rows)
        parts = ours[-1][name]["parts_ms"]
        print("  cajole: " + ", ".join(f"{part} {ms:.2f} ms" for part, ms in parts.items()))
        print_table(f"{name}, ms/first pass", list(firsts[name].items()))
        for kind in ("", "_in_step"):
            share = median(round_[f"{name}{kind}_share_of_peak"] for round_ in ours)
            print(f"  cajole{kind.replace('_', ' ')}: {100 * share:.0f} % of one core's peak")
        best = min(median(theirs[name, v.label]) for v in variants)
        speedups.append(best / median(alone))
        print(f"  {name}: {speedups[-1]:.1f} times as fast as PyTorch's best\n")
    leave_speedup(folder, min(speedups))


if __name__ == "__main__":
    main()
